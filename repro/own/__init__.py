"""Studies that users write: an ordinary PyTorch module and its loss, or a black box.

Arms are read at collection, so `repro.own.arm` and `repro.own.outside` import no torch;
`repro.own.module` does.
"""
