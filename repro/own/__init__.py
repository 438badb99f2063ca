"""Studies of one's own: an ordinary PyTorch module and its loss, or a training that is a black box.

Arms are read at collection, so `repro.own.arm` never imports torch; `repro.own.module` does.
"""
