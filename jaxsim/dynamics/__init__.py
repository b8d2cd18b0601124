"""The smooth dynamics, one file per stage of MuJoCo: kinematics, com, tendon, transmission, passive, actuation."""
