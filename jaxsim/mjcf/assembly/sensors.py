"""From compiled items to the arrays of mjModel: sensors."""

import numpy as np

from jaxsim.mjcf.assembly.columns import array, column, item_id, rows, user
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.language.spec import Spec


def sensors(spec: Spec, m: CompiledModel) -> None:
    """Sensors and their places in sensordata."""
    items = spec.lists["sensor"]
    dim, samples = (
        column(items, "dimension", int),
        array([getattr(s, "nsample", 0) for s in items], dtype=int),
    )
    m.touch_grids = array([np.zeros(6) if s.gridprm is None else s.gridprm for s in items], 6)
    history = np.where(samples > 0, 2 + samples + samples * dim, 0)
    m.set(nsensor=len(items), nsensordata=int(dim.sum()))
    m.set(
        "sensor_",
        type=column(items, "type", int),
        datatype=column(items, "datatype", int),
        needstage=column(items, "needstage", int),
        objtype=column(items, "objtype", int),
        objid=array([item_id(s.obj) for s in items], dtype=int),
        reftype=column(items, "reftype", int),
        refid=array([item_id(s.ref) for s in items], dtype=int),
        intprm=rows(items, "intprm", 3, int),
        dim=dim,
        adr=np.cumsum(dim) - dim,
        cutoff=array([getattr(s, "cutoff", 0.0) for s in items]),
        noise=array([getattr(s, "noise", 0.0) for s in items]),
        history=np.stack([samples, array([getattr(s, "interp", 0) for s in items], dtype=int)], 1),
        historyadr=np.where(samples > 0, m.nhistory + np.cumsum(history) - history, -1),
        delay=array([getattr(s, "delay", 0.0) for s in items]),
        interval=array([getattr(s, "interval", (0.0, 0.0)) for s in items], 2),
        plugin=np.full(len(items), -1, np.int32),
        user=user(items, m.nuser_sensor),
    )
    m.set(nhistory=m.nhistory + int(history.sum()))
