"""What assembles the dynamics: forward, inverse, integration, constants.

A stage takes the Model, the Data, and what earlier stages found that Data does not keep, in this order. What
people read of its results it puts into Data, and returns the new Data; what only later stages need it returns
beside it, as a NamedTuple of arrays. So there are three forms, here and in the folders below:

    d = crb(m, d)                               everything goes into Data
    d, cdof_dot = com_vel(m, d)                 something is left over
    rows = make_constraint(m, d, ten_J, slots)  nothing goes into Data

Everything that is returned is a pytree of arrays, None standing for what a model does not have; what is static
is read from the Model's tables (`row_table`, `pairs_of`). So any stage can be jitted, checkpointed, differentiated
or mapped on its own.
"""
