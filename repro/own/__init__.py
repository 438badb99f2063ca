"""Studies that users write: an ordinary PyTorch module and its loss, or a black box.

Arms are read at collection, and black boxes train where torch is not installed: of what is here
only `repro.own.module`, and what it is made of, imports torch.
"""
