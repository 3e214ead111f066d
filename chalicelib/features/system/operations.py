"""The service itself."""

from chalicelib.features.system.checks import checks
from chalicelib.features.system.models import ServiceStatus
from chalicelib.kernel.context import Context
from chalicelib.kernel.encoding import to_base64
from chalicelib.kernel.ledger import public_keys
from chalicelib.kernel.operation import Caller, RouteGroup
from chalicelib.kernel.version import API_VERSION, VERSION

routes = RouteGroup("system")


@routes.get("/status", needs=Caller.PUBLIC, scope=None, emits=None)
def get_status(ctx: Context) -> ServiceStatus:
    """Tell whether the service is well, and which key signs its checkpoints."""
    found, keys = checks(), [to_base64(key) for key in public_keys()]
    well = all(check.status == "ok" for check in found)
    return ServiceStatus(
        status="ok" if well else "degraded", version=VERSION, api_version=API_VERSION, time=ctx.now, checks=found,
        audit_public_key=keys[0], audit_public_keys=keys,
    )  # fmt: skip
