"""Studies that users write: an ordinary PyTorch module and its loss, or a black box.

Arms are read at collection, and black boxes train where torch is not installed. So only
`repro.own.module`, and what it imports, need torch.
"""
