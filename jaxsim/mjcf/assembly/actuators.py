"""From compiled items to the arrays of mjModel: actuators."""

import numpy as np

from jaxsim.mjcf.assembly.columns import array, column, item_id, rows, user
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.language.spec import Spec


def actuators(spec: Spec, m: CompiledModel) -> None:
    """Actuators, their inputs and their outputs."""
    items = spec.lists["actuator"]
    ctrlnum, outnum = column(items, "ctrlnum", int), column(items, "outnum", int)
    actnum, samples = column(items, "actnum", int), column(items, "nsample", int)
    history = np.where(samples > 0, 2 + samples + samples * np.maximum(ctrlnum, 1), 0)
    damping = rows(items, "damping", 3)
    plugged = np.array([a.pidprm is not None for a in items], bool)
    inputs = [row for a in items for row in a.inputs]
    m.set(nactuator=len(items), nu=int(ctrlnum.sum()), nout=int(outnum.sum()), na=int(actnum.sum()))
    m.set(
        "actuator_",
        trntype=column(items, "trntype", int),
        dyntype=column(items, "dyntype", int),
        gaintype=column(items, "gaintype", int),
        biastype=column(items, "biastype", int),
        ctrladr=np.cumsum(ctrlnum) - ctrlnum,
        ctrlnum=ctrlnum,
        ctrlspec=column(items, "ctrlspec", int),
        outadr=np.cumsum(outnum) - outnum,
        outnum=outnum,
        actadr=np.where(actnum > 0, np.cumsum(actnum) - actnum, -1),
        actnum=actnum,
        trnid=array([(a.target.id, item_id(a.second)) for a in items], 2, int),
        cranklength=column(items, "cranklength"),
        dynprm=rows(items, "dynprm", 10),
        gainprm=rows(items, "gainprm", 10),
        biasprm=rows(items, "biasprm", 10),
        actlimited=column(items, "is_actlimited", bool),
        actrange=rows(items, "actrange", 2),
        actearly=column(items, "actearly", bool),
        delay=column(items, "delay"),
        history=np.stack([samples, column(items, "interp", int)], 1),
        historyadr=np.where(samples > 0, np.cumsum(history) - history, -1),
        damping=damping[:, 0],
        dampingpoly=damping[:, 1:],
        armature=column(items, "armature"),
        forcelimited=column(items, "is_forcelimited", bool),
        forcerange=rows(items, "forcerange", 2),
        group=column(items, "group", int),
        plugin=np.where(plugged, np.cumsum(plugged) - 1, -1),
        pidprm=array([np.zeros(5) if a.pidprm is None else a.pidprm for a in items], 5),
        user=user(items, m.nuser_actuator),
        ctrllimited=array([limited for _, limited in inputs], dtype=bool),
        ctrlrange=array([bounds for bounds, _ in inputs], 2),
        gear=np.repeat(rows(items, "gear", 6), outnum, axis=0),
        lengthrange=np.repeat(rows(items, "lengthrange", 2), outnum, axis=0),
    )
    m.set(nhistory=int(history.sum()))
