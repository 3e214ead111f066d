"""The template of the stack `atrium-<stage>-edge`: CloudFront in front of the API, for the visitors of sites.

The stack belongs to us-east-1, the only region from which CloudFront takes certificates and in which it delivers logs.
Its resources hold no data of the service.
"""

from pathlib import Path
from typing import Any, Final

from chalicelib.kernel.http.client_address import EDGE_SECRET_HEADER, VIEWER_ADDRESS_HEADER
from infrastructure.cfn import (
    RETAINED,
    TEMPLATE_STAGE,
    allow_statement,
    deny_statement,
    get_att,
    policy_document,
    ref,
    sub,
)
from infrastructure.data_stores import Resources, private_bucket
from infrastructure.resources import LOG_RETENTION_DAYS

FUNCTION_FILE: Final = Path(__file__).with_name("edge_function.js")

MAX_CACHE_SECONDS: Final = 300
"""How long CloudFront caches a response at most, whatever the service's `Cache-Control` says."""

_ORIGIN: Final = "api"
_HSTS_SECONDS: Final = 365 * 24 * 60 * 60
_MIN_TLS: Final = "TLSv1.2_2021"
_NAME: Final = f"{TEMPLATE_STAGE.prefix}-edge"
_BUCKET: Final = "edge-logs"
_TENANTS: Final = "ServesCustomDomains"

_LOG_FIELDS: Final = (
    *("date", "time", "x-edge-location", "sc-bytes", "c-ip", "cs-method", "cs(Host)", "cs-uri-stem", "sc-status"),
    *("cs(User-Agent)", "x-edge-result-type", "x-edge-request-id", "x-host-header", "cs-protocol", "time-taken"),
    *("ssl-protocol", "x-edge-response-result-type", "cs-protocol-version", "time-to-first-byte"),
)
"""Fields of the access log. They omit the query, the referrer and cookies, which can contain secrets."""

_PARAMETERS: Final = {
    "Stage": {"Type": "String", "AllowedPattern": "dev|prod", "Description": "Name of the stage."},
    "Hosts": {
        "Type": "String",
        "Description": "Host names to serve, separated by commas, such as *.sites.atrium.example.com.",
    },
    "CertificateArn": {
        "Type": "String",
        "AllowedPattern": "arn:aws:acm:us-east-1:[0-9]{12}:certificate/.+",
        "Description": "ARN of a certificate for these hosts in us-east-1.",
    },
    "OriginDomain": {"Type": "String", "Description": "Host name of the API."},
    "OriginPath": {
        "Type": "String",
        "Default": "",
        "AllowedPattern": "(/[^/]+)*",
        "Description": "Path of the API, such as /prod.",
    },
    "OriginSecret": {
        "Type": "String",
        "NoEcho": True,
        "MinLength": 32,
        "Description": "Secret that the distribution sends to the API.",
    },
    "CustomDomains": {
        "Type": "String",
        "Default": "no",
        "AllowedValues": ["yes", "no"],
        "Description": "Whether to create a multi-tenant distribution for the custom domains of tenants.",
    },
}


def build_template() -> dict[str, Any]:
    """Return the template."""
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Atrium: CloudFront in front of the API, for the visitors of sites.",
        "Parameters": _PARAMETERS,
        "Conditions": {_TENANTS: {"Fn::Equals": [ref("CustomDomains"), "yes"]}},
        "Resources": {**_policies(), **_distributions(), **_logs()},
        "Outputs": {
            "DistributionId": {"Value": ref("Distribution")},
            "DistributionDomain": {"Value": get_att("Distribution", "DomainName")},
            "LogsBucket": {"Value": ref("LogsBucket")},
            "TenantDistributionId": {"Condition": _TENANTS, "Value": ref("TenantDistribution")},
            "ConnectionGroupId": {"Condition": _TENANTS, "Value": get_att("ConnectionGroup", "Id")},
            "RoutingEndpoint": {"Condition": _TENANTS, "Value": get_att("ConnectionGroup", "RoutingEndpoint")},
        },
    }


def _policies() -> Resources:
    function = {
        "Name": sub(_NAME),
        "AutoPublish": True,
        "FunctionCode": FUNCTION_FILE.read_text(encoding="utf-8"),
        "FunctionConfig": {"Comment": "Asks the API for the page of a host and path", "Runtime": "cloudfront-js-2.0"},
    }
    cache_key = {
        # The function puts the host and the path into the query.
        "QueryStringsConfig": {"QueryStringBehavior": "whitelist", "QueryStrings": ["host", "path", "page"]},
        "HeadersConfig": {"HeaderBehavior": "none"},
        "CookiesConfig": {"CookieBehavior": "none"},
        "EnableAcceptEncodingGzip": True,
        "EnableAcceptEncodingBrotli": True,
    }
    # Without `Cache-Control` nothing is cached. `no-store` and `private` are obeyed because the minimum is 0.
    lifetimes = {"MinTTL": 0, "DefaultTTL": 0, "MaxTTL": MAX_CACHE_SECONDS}
    sent = {"HeaderBehavior": "whitelist", "Headers": ["Accept", VIEWER_ADDRESS_HEADER]}
    hsts = {"AccessControlMaxAgeSec": _HSTS_SECONDS, "IncludeSubdomains": False, "Override": False}
    return {
        "Function": {"Type": "AWS::CloudFront::Function", "Properties": function},
        "CachePolicy": _policy(
            "Cache", lifetimes | {"Name": sub(_NAME), "ParametersInCacheKeyAndForwardedToOrigin": cache_key}
        ),
        "OriginRequestPolicy": _policy(
            "OriginRequest",
            {
                "Name": sub(_NAME),
                "HeadersConfig": sent,
                "CookiesConfig": {"CookieBehavior": "none"},
                "QueryStringsConfig": {"QueryStringBehavior": "none"},  # Those of the cache key are sent anyway.
            },
        ),
        "ResponseHeadersPolicy": _policy(
            "ResponseHeaders",
            {"Name": sub(_NAME), "SecurityHeadersConfig": {"StrictTransportSecurity": {**hsts, "Preload": False}}},
        ),
    }


def _policy(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"Type": f"AWS::CloudFront::{kind}Policy", "Properties": {f"{kind}PolicyConfig": config}}


def _distributions() -> Resources:
    own = {"Aliases": {"Fn::Split": [",", ref("Hosts")]}, "IPV6Enabled": True, "PriceClass": "PriceClass_All"}
    # Tenants bring their domains, and may bring certificates. The connection group decides about IPv6.
    group = {"Name": sub(_NAME), "Enabled": True, "Ipv6Enabled": True}
    return {
        "Distribution": _distribution("Sites of Atrium, stage ${Stage}", own),
        "TenantDistribution": {
            **_distribution("Custom domains of Atrium, stage ${Stage}", {"ConnectionMode": "tenant-only"}),
            "Condition": _TENANTS,
        },
        "ConnectionGroup": {"Type": "AWS::CloudFront::ConnectionGroup", "Condition": _TENANTS, "Properties": group},
    }


def _distribution(comment: str, properties_of_kind: dict[str, Any]) -> dict[str, Any]:
    function = {"EventType": "viewer-request", "FunctionARN": get_att("Function", "FunctionARN")}
    behavior = {
        "TargetOriginId": _ORIGIN,
        "ViewerProtocolPolicy": "redirect-to-https",
        "AllowedMethods": ["GET", "HEAD"],
        "Compress": True,
        "CachePolicyId": ref("CachePolicy"),
        "OriginRequestPolicyId": ref("OriginRequestPolicy"),
        "ResponseHeadersPolicyId": ref("ResponseHeadersPolicy"),
        "FunctionAssociations": [function],
    }
    origin = {
        "Id": _ORIGIN,
        "DomainName": ref("OriginDomain"),
        "OriginPath": ref("OriginPath"),
        "CustomOriginConfig": {"OriginProtocolPolicy": "https-only", "OriginSSLProtocols": ["TLSv1.2"]},
        "OriginCustomHeaders": [{"HeaderName": EDGE_SECRET_HEADER, "HeaderValue": ref("OriginSecret")}],
    }
    certificate = {
        "AcmCertificateArn": ref("CertificateArn"),
        "MinimumProtocolVersion": _MIN_TLS,
        "SslSupportMethod": "sni-only",
    }
    config = {
        "Enabled": True,
        "Comment": sub(comment),
        "HttpVersion": "http2and3",
        "Origins": [origin],
        "DefaultCacheBehavior": behavior,
        "ViewerCertificate": certificate,
        **properties_of_kind,
    }
    return {"Type": "AWS::CloudFront::Distribution", "Properties": {"DistributionConfig": config}}


def _logs() -> Resources:
    """Return the access log: standard logging v2, which needs no access control lists on the bucket."""
    expiry = {"Id": "expired", "Status": "Enabled", "ExpirationInDays": LOG_RETENTION_DAYS}
    bucket = private_bucket(_BUCKET, {"LifecycleConfiguration": {"Rules": [expiry]}})
    destination = {
        "Name": sub(_NAME),
        "DestinationResourceArn": get_att("LogsBucket", "Arn"),
        "OutputFormat": "json",
    }
    return {
        "LogsBucket": bucket | RETAINED,
        "LogsBucketPolicy": _logs_bucket_policy() | RETAINED,
        "LogsDestination": {
            "Type": "AWS::Logs::DeliveryDestination",
            "DependsOn": "LogsBucketPolicy",
            "Properties": destination,
        },
        **_log_delivery("Distribution", "sites"),
        **_tenant_log_delivery(),
    }


def _tenant_log_delivery() -> Resources:
    found = _log_delivery("TenantDistribution", "domains")
    # One after the other, because both deliveries use the same destination.
    found["TenantDistributionLogDelivery"]["DependsOn"] = "DistributionLogDelivery"
    return {name: {**resource, "Condition": _TENANTS} for name, resource in found.items()}


def _log_delivery(distribution: str, suffix: str) -> Resources:
    arn = f"arn:${{AWS::Partition}}:cloudfront::${{AWS::AccountId}}:distribution/${{{distribution}}}"
    source = {"Name": sub(f"{_NAME}-{suffix}"), "LogType": "ACCESS_LOGS", "ResourceArn": sub(arn)}
    delivery = {
        "DeliverySourceName": ref(f"{distribution}LogSource"),
        "DeliveryDestinationArn": get_att("LogsDestination", "Arn"),
        "RecordFields": [*_LOG_FIELDS],
        "S3SuffixPath": "{DistributionId}/{yyyy}/{MM}/{dd}/{HH}",
    }
    return {
        f"{distribution}LogSource": {"Type": "AWS::Logs::DeliverySource", "Properties": source},
        f"{distribution}LogDelivery": {"Type": "AWS::Logs::Delivery", "Properties": delivery},
    }


def _logs_bucket_policy() -> dict[str, Any]:
    files = sub("${LogsBucket.Arn}/*")
    sources = "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:delivery-source:*"
    writing = allow_statement(
        {"Service": "delivery.logs.amazonaws.com"},
        ["s3:PutObject"],
        sub("${LogsBucket.Arn}/AWSLogs/${AWS::AccountId}/*"),
        StringEquals={"s3:x-amz-acl": "bucket-owner-full-control", "aws:SourceAccount": ref("AWS::AccountId")},
        ArnLike={"aws:SourceArn": sub(sources)},
    )
    denied = deny_statement(["s3:*"], [get_att("LogsBucket", "Arn"), files], Bool={"aws:SecureTransport": "false"})
    return {
        "Type": "AWS::S3::BucketPolicy",
        "Properties": {"Bucket": ref("LogsBucket"), "PolicyDocument": policy_document(denied, writing)},
    }
