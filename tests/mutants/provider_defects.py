"""Mutations that bring back what other operators of CloudFront tenants got wrong; which is which stands in
tests/unit/provider/test_known_defects.py."""

from tests.mutants.mutation import Mutation

_DEFECTS = "unit/provider/test_defects.py"
_TENANT = "unit/provider/cloudfront/clients/test_tenant.py"
_CERTIFICATES = "unit/provider/cloudfront/certificate/test_certificates.py"

LIFE = (
    Mutation(
        "a look notes when it was",
        "cloudfront/state/observed.py",
        '"createdTime": seen.created_time,',
        '"createdTime": str(__import__("uuid").uuid4()),',
        "each look writes, and ten thousand tenants keep the API server busy for nothing",
        (f"{_TENANT}::test_a_look_in_the_steady_state_is_one_call_and_no_write",),
    ),
    Mutation(
        "a tenant is known by its status alone",
        "cloudfront/clients/skeleton.py",
        "        try:\n            seen = self._read(mr)\n",
        (
            '        if not mr.at_provider.get("id"):\n'
            "            return None\n"
            "        try:\n"
            "            seen = self._read(mr)\n"
        ),
        "a lost status leaves a live tenant that nobody manages, and its resource is stuck",
        (f"{_DEFECTS}::test_what_a_lost_creation_made_is_deleted_with_its_resource",),
    ),
    Mutation(
        "what vanished is made anew whatever the policy",
        "cloudfront/safety/guards.py",
        "if not _leaves(mr, default):",
        "if True:",
        "Report and Suspend write to AWS",
        (f"{_DEFECTS}::test_what_was_deleted_in_aws_is_left_where_the_policy_says_so",),
    ),
    Mutation(
        "a disabling leaves parameters out",
        "cloudfront/tenant/plan.py",
        "connection_group_id=seen.connection_group_id, parameters=seen.parameters)",
        "connection_group_id=seen.connection_group_id)",
        "where an update replaces, a required parameter is missing and the deletion never ends",
        (f"{_DEFECTS}::test_a_disabling_says_no_more_than_aws_wants",),
    ),
    Mutation(
        "a disabling says the domains of the spec",
        "cloudfront/tenant/plan.py",
        "        domains=frozenset(seen.domains),\n        enabled=enabled,",
        "        domains=frozenset(),\n        enabled=enabled,",
        "an edit before the deletion is rolled out by it, or refused for ever",
        (f"{_DEFECTS}::test_a_disabling_says_no_more_than_aws_wants",),
    ),
    Mutation(
        "of a resource only Enforce is read",
        "cloudfront/lifecycle/assessment.py",
        'policy = DriftPolicy(mr.spec.get("driftPolicy") or default)',
        "policy = default",
        "one tenant cannot be left alone",
        (f"{_TENANT}::test_drift_is_left_where_the_policy_says_so",),
    ),
    Mutation(
        "a resource that only looks needs ownership",
        "cloudfront/ownership/judgement.py",
        "return bool(set(mr.management_policies) - _READING)",
        "return True",
        "nobody can look at a tenant of somebody else's before taking it over",
        ("unit/provider/cloudfront/ownership/test_judgement.py",),
    ),
    Mutation(
        "connection groups are not managed",
        "main.py",
        "            (tree.group, GroupConnector, groups),\n",
        "",
        "tenants refer to groups that nobody makes",
        (f"{_DEFECTS}::test_both_kinds_of_both_trees_are_managed",),
    ),
)

EDITS = (
    Mutation(
        "edits of tags do nothing",
        "cloudfront/lifecycle/actions.py",
        "    if wanted is None or there is None:\n",
        "    if True:\n",
        "the resource says that it is in sync, and AWS has other tags",
        (f"{_TENANT}::test_tags_of_the_spec_are_set_and_removed_by_their_own_calls",),
    ),
    Mutation(
        "a certificate is asked for at creation only",
        "cloudfront/tenant/assessment.py",
        "needed = _lacking(target, seen, certificate) or (due and may_request)",
        "needed = _lacking(target, seen, certificate)",
        "managedCertificateRequest on an existing tenant does nothing",
        (f"{_CERTIFICATES}::test_a_tenant_that_serves_is_given_one_without_a_gap",),
    ),
    Mutation(
        "records that are asked for are not mentioned",
        "cloudfront/tenant/conditions.py",
        "if not asked.records:",
        "if True:",
        "an edit of dns does nothing and says nothing",
        (f"{_DEFECTS}::test_records_that_are_asked_for_later_are_answered",),
    ),
    Mutation(
        "what CloudFront fills in is drift",
        "cloudfront/state/diff.py",
        "return value is None and not applied.had(path)",
        "return False",
        "the managed certificate is detached, and attached, and detached",
        (f"{_TENANT}::test_what_nobody_asked_for_is_no_drift",),
    ),
    Mutation(
        "domains of AWS are taken in their case",
        "cloudfront/state/observed.py",
        'domains={d["Domain"].lower(): ',
        'domains={d["Domain"]: ',
        "one capital letter is drift for ever",
        (f"{_DEFECTS}::test_domains_are_a_set_of_names_in_lower_case",),
    ),
    Mutation(
        "what is emptied is left out",
        "cloudfront/aws/calls.py",
        "if key in emptied or (value is not None and value not in ({}, []))",
        "if value is not None and value not in ({}, [])",
        "the last parameter cannot be taken away: an update that never ends",
        (f"{_DEFECTS}::test_what_is_emptied_is_sent_and_what_is_unsaid_is_not",),
    ),
    Mutation(
        "nothing is found to be emptied",
        "cloudfront/tenant/plan.py",
        "return frozenset(member for member, is_emptied in emptied.items() if is_emptied)",
        "return frozenset(member for member, is_emptied in emptied.items() if False)",
        "the same",
        (f"{_TENANT}::test_an_edit_is_rolled_out_once_and_leaves_the_rest",),
    ),
    Mutation(
        "a web ACL is not sent",
        "cloudfront/state/desired.py",
        "web_acl=WebAcl(acl.action.value, acl.arn) if acl and found else None,",
        "web_acl=None,",
        "a tenant is served without the protection that it asks for",
        (f"{_TENANT}::test_an_edit_is_rolled_out_once_and_leaves_the_rest",),
    ),
)

CERTIFICATES = (
    Mutation(
        "each update asks for a certificate",
        "cloudfront/aws/calls.py",
        "**settings(tenant, emptied), **_asking(request)}",
        "**settings(tenant, emptied), **_asking(request or tenant.certificate_request)}",
        "an unrelated edit opens a second request",
        (f"{_DEFECTS}::test_an_unrelated_edit_asks_for_no_second_certificate",),
    ),
    Mutation(
        "each plan asks for a certificate",
        "cloudfront/tenant/plan.py",
        "return (UpdateTenant(seen.id, target, diff.fields, emptied), *asking)",
        "return (UpdateTenant(seen.id, target, diff.fields, emptied, target.certificate_request), *asking)",
        "the same",
        (f"{_DEFECTS}::test_an_unrelated_edit_asks_for_no_second_certificate",),
    ),
    Mutation(
        "an attached certificate is filled into the spec",
        "cloudfront/tenant/report.py",
        '"enabled": enabled}',
        '"enabled": enabled, "customizations": {"certificate": state.seen.customizations.certificate_arn}}',
        "GitOps puts the spec back, and the certificate is detached",
        (f"{_DEFECTS}::test_an_attached_certificate_is_never_filled_into_the_spec",),
    ),
    Mutation(
        "an attached certificate is done",
        "cloudfront/tenant/plan.py",
        "return LOOK_AT_CERTIFICATE if certificate and certificate.pending else None",
        "return LOOK_AT_CERTIFICATE if certificate and certificate.pending else 36_000.0",
        "a domain that takes its time stays unnoticed for hours",
        (f"{_DEFECTS}::test_a_domain_that_takes_its_time_after_the_attachment_is_looked_at_again",),
    ),
    Mutation(
        "a policy that leaves drift leaves everything",
        "cloudfront/lifecycle/assessment.py",
        "todo = compare(ignored | {d.field for d in drift})",
        "todo = compare(ignored | {d.field for d in todo.all})",
        "no certificate is attached while there is drift",
        (
            f"{_DEFECTS}::test_drift_that_is_left_holds_up_neither_certificate_nor_ready",
            f"{_TENANT}::test_drift_is_left_where_the_policy_says_so",
        ),
    ),
    Mutation(
        "what the certificates cover is looked at only where records are made",
        "cloudfront/checks/preflight.py",
        "found += checks.coverage(asked, asked.domains)\n",
        "found += checks.coverage(asked, asked.domains) if asked.records else ()\n",
        "a tenant is made that cannot serve",
        ("unit/provider/cloudfront/checks/test_preflight.py",),
    ),
    Mutation(
        "certificates are read in the region of the config",
        "cloudfront/account/sessions.py",
        '{**options, "region_name": REGION}',
        "options",
        "the look at names on a certificate fails outside us-east-1",
        ("contract/test_credentials.py::test_roles_are_assumed_where_the_endpoint_says_and_in_its_region",),
    ),
)

TOLD = (
    Mutation(
        "ready with an inactive domain",
        "cloudfront/tenant/conditions.py",
        "    _without_effect,\n    _inactive_domains,\n",
        "    _without_effect,\n",
        "visitors are sent to a domain that nobody answers for",
        (f"{_TENANT}::test_an_inactive_domain_is_not_served",),
    ),
    Mutation(
        "ready with a bad certificate",
        "cloudfront/tenant/conditions.py",
        "    _lost_certificate,\n    _first_roll_out,\n    _awaited_certificate,\n",
        "    _first_roll_out,\n",
        "visitors see a warning and the resource says Ready",
        (f"{_DEFECTS}::test_a_certificate_that_is_no_good_is_not_hidden_by_active_domains",),
    ),
    Mutation(
        "ready while it is disabled",
        "cloudfront/tenant/conditions.py",
        "    _disabled,\n    _disabled_group,\n",
        "    _disabled_group,\n",
        "a tenant that serves nobody says Ready",
        (f"{_TENANT}::test_desired_disabled_is_said_and_not_ready",),
    ),
    Mutation(
        "a refusal has no condition",
        "cloudfront/aws/retries.py",
        "conditions = meanwhile if serving else (*meanwhile, not_ready(error.verdict.reason, message))",
        "conditions = meanwhile",
        "a creation is tried for ever, and nobody learns why it fails",
        (f"{_DEFECTS}::test_a_refused_creation_is_told_with_its_reason",),
    ),
)

LISTS = (
    Mutation(
        "connection groups are read from the first page",
        "cloudfront/aws/group_calls.py",
        "        if not marker:\n            return\n",
        "        return\n",
        "with a hundred groups the default one is not found",
        (f"{_DEFECTS}::test_the_default_group_is_found_on_whatever_page",),
    ),
    Mutation(
        "conflicts are read from the first page",
        "cloudfront/aws/domain_calls.py",
        "if not marker or marker in passed:",
        "if True:",
        "the holder of a domain is not named",
        (f"{_DEFECTS}::test_conflicts_are_read_to_the_last_page",),
    ),
    Mutation(
        "a parent is read for each of its tenants",
        "cloudfront/memory/answers.py",
        "return known if known and self._clock.now() < known.until else None",
        "return None",
        "a thousand new tenants read one distribution a thousand times",
        (
            "unit/provider/cloudfront/checks/test_preflight.py::test_many_that_are_made_at_once_share_the_calls_for_their_parent",
        ),
    ),
)

FLAGS = (
    Mutation(
        "no metrics unless asked for",
        "options.py",
        "        default=8080,\n",
        "        default=0,\n",
        "an installation as it comes cannot be watched",
        (
            f"{_DEFECTS}::test_probes_and_metrics_are_reached_from_outside_the_pod_at_the_ports_that_were_given",
        ),
    ),
    Mutation(
        "pages are served inside the pod only",
        "options.py",
        '_ANYWHERE: Final = "0.0.0.0"',
        '_ANYWHERE: Final = "127.0.0.1"',
        "neither kubelet nor Prometheus reaches them",
        (
            f"{_DEFECTS}::test_probes_and_metrics_are_reached_from_outside_the_pod_at_the_ports_that_were_given",
        ),
    ),
    Mutation(
        "the health port is where it always was",
        "options.py",
        'health_port=given["health_port"],',
        "health_port=8081,",
        "the flag moves the probe and not the server",
        (
            f"{_DEFECTS}::test_probes_and_metrics_are_reached_from_outside_the_pod_at_the_ports_that_were_given",
        ),
    ),
    Mutation(
        "no election unless asked for",
        "options.py",
        '        default=True,\n        says="Elect a leader: ',
        '        default=False,\n        says="Elect a leader: ',
        "an upgrade has two providers at work",
        ("unit/provider/test_main.py::test_by_default_it_takes_part_in_the_election_and_serves_metrics",),
    ),
)

PROVIDER_DEFECTS = (*LIFE, *EDITS, *CERTIFICATES, *TOLD, *LISTS, *FLAGS)
