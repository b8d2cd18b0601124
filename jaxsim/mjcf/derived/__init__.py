"""Constants that follow from the arrays of a model, on the host (MuJoCo: mj_setConst, mj_setLengthRange).

Works on any object with the fields of mjModel; what the constants are is in `dynamics`, which runs on numpy's arrays
here. May import: algebra, and the enumerations of language.
"""
