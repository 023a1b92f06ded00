"""The calls for certificates: to CloudFront for a tenant's managed one, to ACM for any."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from provider.cloudfront.aws.error_translation import as_aws_errors, reading
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state.certificates import Certificate, Token
from provider.cloudfront.state.renewals import Renewal

if TYPE_CHECKING:
    from mypy_boto3_acm import ACMClient
    from mypy_boto3_cloudfront import CloudFrontClient

__all__ = ["CertificateCalls"]


class CertificateCalls:
    """Part of CloudFrontCalls."""

    _cloudfront: CloudFrontClient
    _acm: ACMClient

    def managed_certificate(self, tenant: str) -> Certificate | None:
        """GetManagedCertificateDetails. CloudFront returns EntityNotFound if no certificate was requested."""
        try:
            with as_aws_errors("GetManagedCertificateDetails"):
                answer = self._cloudfront.get_managed_certificate_details(Identifier=tenant)
        except AwsError as error:
            if error.absent:
                return None
            raise
        with reading("GetManagedCertificateDetails"):
            return _managed(answer.get("ManagedCertificateDetails") or {})

    def certificate(self, arn: str) -> Certificate | None:
        """DescribeCertificate; None if ACM does not have the certificate."""
        try:
            with as_aws_errors("DescribeCertificate"):
                answer = self._acm.describe_certificate(CertificateArn=arn)
        except AwsError as error:
            if error.code in ("ResourceNotFoundException", "ResourceNotFound"):
                return None
            raise
        with reading("DescribeCertificate"):
            return _described(arn, answer.get("Certificate") or {})


def _managed(details: Mapping[str, Any]) -> Certificate:
    tokens = tuple(
        Token(item["Domain"].lower(), item.get("RedirectFrom"), item.get("RedirectTo"))
        for item in details.get("ValidationTokenDetails") or ()
    )
    return Certificate(
        arn=details.get("CertificateArn") or None,
        status=details.get("CertificateStatus") or "",
        token_host=details.get("ValidationTokenHost"),
        tokens=tokens,
        domains=frozenset(token.domain for token in tokens),
    )


def _described(arn: str, answer: Mapping[str, Any]) -> Certificate:
    names = [answer.get("DomainName") or "", *(answer.get("SubjectAlternativeNames") or ())]
    not_after = answer.get("NotAfter")
    return Certificate(
        arn=arn,
        status=str(answer.get("Status") or "").lower().replace("_", "-"),
        domains=frozenset(name.lower() for name in names if name),
        failure_reason=answer.get("FailureReason"),
        not_after=_rfc3339(not_after) if isinstance(not_after, datetime) else None,
        renewal=_renewal(answer.get("RenewalSummary")),
    )


def _renewal(summary: Mapping[str, Any] | None) -> Renewal | None:
    if not summary:
        return None
    waiting = frozenset(
        str(each["DomainName"]).lower()
        for each in summary.get("DomainValidationOptions") or ()
        if each.get("ValidationStatus") != "SUCCESS"
    )
    return Renewal(str(summary.get("RenewalStatus") or ""), summary.get("RenewalStatusReason"), waiting)


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
