"""The items of the table that are not records, such as log heads, queues, counters and lists."""

from typing import Final

from chalicelib.features.audit.witnesses.logic import anchor_list, anchor_log, anchored_checkpoints
from chalicelib.features.events.types.entities import TYPE_NAMES_PARTITION
from chalicelib.features.leads.entities import Lead
from chalicelib.features.notifications.logic.stream_wakeups import streams_key
from chalicelib.features.notifications.logic.subscriptions import subscriptions_key
from chalicelib.features.notifications.webhooks.logic import host_rate_limit
from chalicelib.features.notifications.webhooks.models.attempt_counts import COUNTS_PREFIX
from chalicelib.features.platforms.members.entities import membership_listing_sort_key
from chalicelib.features.research.entities import (
    COMPARISON_PARTITION,
    EDITION_COUNTS_PARTITION,
    MATCH_KEYS_PARTITION,
    STALE_ARTEFACTS_PARTITION,
    Artefact,
    ResearchOutput,
    researcher_partition_key,
)
from chalicelib.features.research.logic import throttle
from chalicelib.features.sites.entities.redirects import redirect_by_path_key
from chalicelib.features.sites.entities.sites import TREE_PARTITION
from chalicelib.features.sites.pages.entities import slug_index as page_slug_index
from chalicelib.features.sites.visits.logic import stored_sitemaps
from chalicelib.features.taxonomy.attachments.entities import entity_attachments_key
from chalicelib.features.taxonomy.entities import slug_index
from chalicelib.features.tenancy.api_keys.entities import KEY_DEPENDENCY_PREFIX
from chalicelib.features.tenancy.entities.memberships import email_sort_key
from chalicelib.features.tenancy.entities.organizations import DIRECTORY_PARTITION, ID_KEY_PREFIX, WORD_KEY_PREFIX
from chalicelib.features.tenancy.invitations.entities import address_partition
from chalicelib.features.tenancy.logic import email_hashes
from chalicelib.kernel.audit_log import ledger, quarantine, tile_storage
from chalicelib.kernel.audit_log.entries import body_key, pending_key
from chalicelib.kernel.audit_log.mac_chains import chain_key
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.identity import auth, userinfo
from chalicelib.kernel.permissions.access_epochs import organization_partition
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import name_index
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.search_keys import key_prefix_of_exact_name
from chalicelib.kernel.trees.tree import Tree

GUARD: Final = "unique value guard"
"""The name of the items that reserve unique values."""
LOG: Final = "{log_id}"
_PLATFORM: Final = "{platform_id}"
_TAXONOMY: Final = f"P#{_PLATFORM}#T"
_NODES: Final = Tree(_TAXONOMY, "")
_PAGES: Final = Tree(TREE_PARTITION, "")
_NAME_AND_ID: Final = f"{{name}}{name_index.END_OF_NAME}{{id}}"


ITEMS_WITHOUT_RECORD: Final[list[tuple[str, ItemKey, str]]] = [
    (GUARD, ("U#{namespace}#{value}", "#"), "the owner of the value; for a former slug also its last day"),
    (
        "stored response",
        ("I#{principal}#{sha256 of the key}", "#"),
        "the response for an `Idempotency-Key`, for a day",
    ),
    (
        "userinfo response",
        userinfo.userinfo_key("{sha256 of token, subject, issuer and names of claims}"),
        "what the issuer's userinfo endpoint says about a user, encrypted, used for an hour at most",
    ),
    (
        "API key pointer",
        auth.secret_pointer_key("{sha256 of the API key}"),
        "the key of the record of an API key or service key",
    ),
    ("event type name", (TYPE_NAMES_PARTITION, "{type}"), "the name of a declared event type"),
    (
        "API key dependency",
        ("O#{organization_id}", f"{KEY_DEPENDENCY_PREFIX}{{id}}"),
        "an active API key, and the principals on whose rights it depends",
    ),
    ("entry body", body_key(LOG, "{id}"), "the bytes of an entry that is too long for one item"),
    (
        "log head",
        ledger.head_key(LOG),
        "the size, peaks and signed notes of a log, and the last entry that was delivered",
    ),
    (
        "MAC chain",
        (chain_key(LOG, 0)[0], f"{ledger.HEAD_SORT_KEY}{{shard}}"),
        "one of the 16 MAC chains of a log: the number and the MAC of its newest entry",
    ),
    (
        "member by e-mail",
        ("O#{organization_id}", email_sort_key("{email}", "{user_id}")),
        "an organization's member",
    ),
    (
        "member by e-mail",
        ("P#{platform_id}", email_sort_key("{email}", "{user_id}")),
        "a platform's member, by e-mail address",
    ),
    (
        "organization by id",
        (DIRECTORY_PARTITION, f"{ID_KEY_PREFIX}{{id}}"),
        "an organization, in the list for operators",
    ),
    (
        "organization by word",
        (DIRECTORY_PARTITION, key_prefix_of_exact_name(WORD_KEY_PREFIX, "{word}") + "{id}"),
        "an organization, by its name without case and accents, or by its slug",
    ),
    (
        "record in alphabetical order",
        ("O#{organization_id}#NAMES#{list}", name_index.key_prefix_of_search(None) + _NAME_AND_ID),
        "a member, platform or site of an organization, in the order of their names",
    ),
    (
        "record by name",
        ("O#{organization_id}#NAMES#{list}", name_index.key_prefix_of_search("") + _NAME_AND_ID),
        "such a record, by a name, or by the rest of one from a later word on, without case and accents",
    ),
    (
        "lead in alphabetical order",
        (Lead.all_names.partition, name_index.key_prefix_of_search(None) + _NAME_AND_ID),
        "a lead, in the order of their contacts",
    ),
    (
        "lead by name",
        (Lead.all_names.partition, name_index.key_prefix_of_search("") + _NAME_AND_ID),
        "a lead, by its contact, company or e-mail address, or by the rest of one from a later word on",
    ),
    (
        "invitation by address",
        (address_partition("{email}"), "{id}"),
        "an invitation until it expires, for the invitee",
    ),
    (
        "platform membership",
        ("O#{organization_id}", membership_listing_sort_key("{user_id}", "{platform_id}")),
        "a user's membership of a platform, in the partition of its organization",
    ),
    (
        "entry batch",
        (ledger.sequence_index_or_batch_key(LOG, 0)[0], "{sequence}"),
        "the ids and the leaf hashes of entries that were appended together",
    ),
    (
        "tree tile",
        (tile_storage.log_tile_storage(LOG).partition, "{level}#{index}"),
        "up to 256 hashes of a log's Merkle tree, from which proofs are computed",
    ),
    (
        "anchored checkpoint",
        (anchored_checkpoints.checkpoint_key(LOG, 0)[0], "{size}"),
        "an anchored checkpoint of a log, and its position in the log of anchors",
    ),
    (
        "listed anchors",
        (anchor_list.leaves_key(0)[0], "{number}"),
        "up to 256 leaves of the log of anchors with their data, which everybody can list",
    ),
    (
        "head of the log of anchors",
        anchor_log.HEAD_KEY,
        "the size, the peaks and the signed checkpoint of the log of anchors",
    ),
    ("subscriber list", subscriptions_key(LOG), "the subscribers to a log, as of the last delivered entry"),
    ("log stream list", streams_key(LOG), "the active streams of a log, as of the last delivered entry"),
    (
        "deferred delivery",
        ("V#{webhook_id}", "!{sequence}#{id}"),
        "a delivery that waits for its webhook to respond",
    ),
    (
        "attempt counts",
        ("V#{webhook_id}", f"{COUNTS_PREFIX}{{hour}}"),
        "counters of a webhook's attempts in an hour, for 8 days",
    ),
    ("outbox pointer", pending_key(LOG, "{id}"), "a pending entry, which has no sequence yet"),
    (
        "quarantined item",
        quarantine.quarantine_key(LOG, "{id}"),
        "an item of an outbox that was not an entry, for 90 days",
    ),
    (
        "ancestor pointer",
        ancestor_cache.ancestor_pointer_key("{id}"),
        "the containers of a record whose path does not contain them",
    ),
    (
        "node by name",
        (_TAXONOMY, f"{slug_index.NAME_KEY_PREFIX}{{name}}#{{id}}"),
        "a node of a taxonomy, by its name",
    ),
    (
        "node by slug or label",
        (_TAXONOMY, f"{slug_index.WORD_KEY_PREFIX}{{slug or label}}#{{id}}"),
        "a node of a taxonomy, by its slug or label",
    ),
    ("node slug index", _NODES.slug_index_key("{slug}"), "the nodes of a taxonomy with a slug"),
    (
        "former node position",
        slug_index.former_position_key(_NODES, "{parent_id}", "{slug}"),
        "the last node that had a slug below a parent",
    ),
    (
        "entity attachments",
        entity_attachments_key(_PLATFORM, "{type}", "{id}"),
        "the nodes of a taxonomy that are attached to an entity",
    ),
    ("page position", _PAGES.node_key("{id}"), "the slug and the parent of a page in a tree of its site"),
    ("page slug index", _PAGES.slug_index_key("{slug}"), "the positions of pages with a slug"),
    (
        "former page positions",
        page_slug_index.former_slug_positions_key(_PAGES, "{slug}"),
        "the former positions of the published pages with a slug",
    ),
    ("page by title", ("W#{site_id}#Q", "{title}#{id}"), "a page of a site, by its title"),
    (
        "sitemap",
        stored_sitemaps.sitemap_head_key("{site_id}"),
        "the parts of a site's sitemap, and the versions that they were built from",
    ),
    ("sitemap piece", ("W#{site_id}#S", "{part}#{piece}"), "a piece of a sitemap, compressed"),
    ("redirect by path", redirect_by_path_key("{site_id}", "{from_path}"), "a redirect, by its path"),
    ("redirect by target", ("W#{site_id}#F", "T#{sha256 of the path}#{id}"), "a redirect, by its target"),
    ("source throttle", throttle.throttle_key("{source}"), "the time of the next request to a public service"),
    (
        "stale artefact",
        (STALE_ARTEFACTS_PARTITION, "{id}"),
        "an artefact that has changed since its output was built",
    ),
    (
        "artefact match key",
        (MATCH_KEYS_PARTITION, "{key}#{id}"),
        "an artefact, by an identifier that others may share",
    ),
    (
        "output by similarity",
        (COMPARISON_PARTITION, "{title and family name}#{year}#{id}"),
        "an output, by the values that are compared to find duplicates",
    ),
    ("edition count", (EDITION_COUNTS_PARTITION, "{edition_id}"), "the number of outputs of an edition of a venue"),
    *(
        (
            f"{kind.kind} by researcher",
            (researcher_partition_key("{library_id}", kind, "{researcher_id}", source), "{id}"),
            f"a {kind.kind.replace('-', ' ')} of a researcher{', from one source' if source else ''}",
        )
        for kind, source in ((Artefact, ""), (Artefact, "{source}"), (ResearchOutput, ""))
    ),
    ("e-mail hash key", email_hashes.HASH_KEY_ITEM_KEY, "the key that hashes e-mail addresses, encrypted"),
    (
        "access epoch",
        (organization_partition("{organization_id}"), "EPOCH#{sha256 of user, key or everyone}#{shard}"),
        "the time at which the rights of a principal, or of all, were lowered; for a day",
    ),
    (
        "closing epoch",
        (organization_partition("{organization_id}"), "CLOSING-EPOCH#{sha256 of user, key or everyone}"),
        "the time until which no transaction checks an epoch, because a change of it is in progress",
    ),
    ("counter", ("{partition}", "COUNT#{name}"), "the number of records that count towards a limit"),
    (
        "rate limit bucket",
        ("Y#{name}#{sha256 of the subject}", "#"),
        "the used part of a rate limit, and the time of its reset",
    ),
    (
        "host request counter",
        host_rate_limit.slot_counter_key("{sha256 of the organization and the host}", "{second}"),
        "the requests that an organization's webhooks sent, or wanted to send, to a host in a second",
    ),
    (
        "request counter",
        request_quota.window_counter_key(request_quota.REQUESTS, "{sha256 of the principal}", "{end}"),
        "the requests of a principal in a minute that are used, or reserved by a process",
    ),
    *(
        (
            name,
            request_quota.window_counter_key(name, "{sha256 of the client's network}", "{end}"),
            "the anonymous requests, or those with a rejected key, of a client network in a time window",
        )
        for name in request_quota.NETWORK_LIMITS
    ),
]
"""The name, the template of the key and the description of each kind of item."""
