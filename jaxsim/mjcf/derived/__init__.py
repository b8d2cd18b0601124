"""Constants that follow from the arrays of a model, on the host (MuJoCo: mj_setConst, mj_setLengthRange).

Works on any object with the fields of mjModel. May import: algebra, and the enumerations of language.
"""
