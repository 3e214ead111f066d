"""The operation that lists all anchors, for everybody who verifies the log of anchors."""

from chalicelib.features.audit.witnesses.entities import cosigned_note
from chalicelib.features.audit.witnesses.logic import anchor_list
from chalicelib.features.audit.witnesses.models.anchors import AnchorListHead, AnchorOut
from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup

routes = RouteGroup("system")


@routes.get("/anchors", access=Caller.PUBLIC, scope=None, emits=None, list_metadata=AnchorListHead)
def list_anchors(ctx: Context, query: ListQuery) -> ListPage[AnchorOut]:
    """List the anchors of all logs, the earliest first: the leaves of the log that witnesses cosign.

    Use it to check that nobody has anchored two contradicting histories of one log. Save all pages, and let `verify.py
    anchors` compute the root from them and compare it with the cosigned one. A log is named by a digest, so the list
    does not reveal organizations. It is empty on a stage without witnesses.
    """
    first = (ctx.decode_cursor(query) or {}).get("index", 0)
    leaves, log = anchor_list.load_leaves_and_witnessed_log(first, query.limit + 1)
    cosigned = log.find_best_checkpoint_beyond(-1) if log else None
    end = first + query.limit
    anchors = [
        AnchorOut(index=each.index, log=each.log, tree_size=each.size, root_hash=from_base64(each.root).hex())
        for each in leaves
        if each.index < end
    ]
    cursor = ctx.encode_cursor({"index": end}, query) if len(anchors) < len(leaves) else None
    return ListPage(anchors, cursor, AnchorListHead(checkpoint=cosigned and cosigned_note(cosigned)))
