"""What another operator of CloudFront tenants is known to get wrong: for each the tests that ours does not,
and the mutations that bring it back. DNS records and sweeps are not here."""

from __future__ import annotations

import pytest

from tests.mutants.provider_defects import PROVIDER_DEFECTS
from tests.unit.provider import proofs
from tests.unit.provider.proofs import Row

UNIT = "tests/unit/provider"
D, T, C = (
    f"{UNIT}/test_defects.py",
    f"{UNIT}/cloudfront/clients/test_tenant.py",
    f"{UNIT}/cloudfront/certificate/test_certificates.py",
)
E, P, M, O = (  # noqa: E741
    f"{UNIT}/{name}.py"
    for name in (
        "cloudfront/aws/test_errors",
        "cloudfront/checks/test_preflight",
        "cloudfront/aws/test_metrics",
        "cloudfront/ownership/test_judgement",
    )
)
MAIN, RUNTIME, WIRE = f"{UNIT}/test_main.py", "runtime/tests", "tests/contract"
FIFTY = (
    "tests/integration/test_fifty_claims.py"
    "::test_fifty_claims_become_ready_with_few_writes_are_quiet_and_follow_their_plan"
)
PAGES = f"{D}::test_probes_and_metrics_are_reached_from_outside_the_pod_at_the_ports_that_were_given"

DEFECTS = (
    Row(
        "each look writes a time into the status, which wakes the resource for the next look",
        (
            f"{T}::test_a_look_in_the_steady_state_is_one_call_and_no_write",
            f"{RUNTIME}/reconcile/test_writes.py::test_a_change_of_status_alone_wakes_nobody",
            FIFTY,
        ),
        ("a look notes when it was", "every change of status wakes the resource"),
    ),
    Row(
        "a creation whose answer was lost is repeated, refused for ever, and orphaned by a deletion",
        (
            f"{D}::test_what_a_lost_creation_made_is_deleted_with_its_resource",
            f"{UNIT}/cloudfront/clients/test_deaths.py::test_a_death_loses_and_doubles_nothing",
            f"{WIRE}/test_tenant_life.py::test_a_restored_cluster_finds_its_tenant",
        ),
        ("a tenant is known by its status alone",),
    ),
    Row(
        "edits of tags, of the certificate's request and of dns do nothing, and InSync is said",
        (
            f"{T}::test_tags_of_the_spec_are_set_and_removed_by_their_own_calls",
            f"{C}::test_a_tenant_that_serves_is_given_one_without_a_gap",
            f"{D}::test_records_that_are_asked_for_later_are_answered",
        ),
        (
            "edits of tags do nothing",
            "a certificate is asked for at creation only",
            "records that are asked for are not mentioned",
        ),
    ),
    Row(
        "the attached certificate is written into the spec",
        (
            f"{D}::test_an_attached_certificate_is_never_filled_into_the_spec",
            f"{C}::test_the_whole_way_is_few_writes_and_leaves_the_spec_alone",
        ),
        ("an attached certificate is filled into the spec",),
    ),
    Row(
        "nothing looks again after the attachment, so a domain that takes its time stays unready",
        (f"{D}::test_a_domain_that_takes_its_time_after_the_attachment_is_looked_at_again",),
        ("an attached certificate is done",),
    ),
    Row(
        "a certificate that CloudFront attaches by itself is drift",
        (
            f"{C}::test_one_that_cloudfront_attaches_by_itself_is_no_drift",
            f"{T}::test_what_nobody_asked_for_is_no_drift",
        ),
        ("what CloudFront fills in is drift",),
    ),
    Row(
        "the disabling before a deletion leaves members out, and has the domains of the spec",
        (
            f"{D}::test_a_disabling_says_no_more_than_aws_wants",
            f"{T}::test_a_deletion_disables_what_is_there_and_not_what_is_asked",
        ),
        ("a disabling leaves parameters out", "a disabling says the domains of the spec"),
    ),
    Row(
        "taken names, quotas and wrong parents are retried for ever without a condition",
        (
            f"{D}::test_a_refused_creation_is_told_with_its_reason",
            f"{D}::test_a_name_that_another_namespace_has_is_told_and_not_retried_in_haste",
            f"{E}::test_each_class_has_its_retry",
        ),
        (
            "a refusal has no condition",
            "a quota is taken for the object's fault",
            "an error of the model is forgotten",
        ),
    ),
    Row(
        "Ready although a domain is inactive, the certificate is pending or lost, or the tenant is disabled",
        (
            f"{T}::test_an_inactive_domain_is_not_served",
            f"{T}::test_desired_disabled_is_said_and_not_ready",
            f"{C}::test_the_whole_way_is_few_writes_and_leaves_the_spec_alone",
            f"{D}::test_a_certificate_that_is_no_good_is_not_hidden_by_active_domains",
        ),
        (
            "ready with an inactive domain",
            "ready with a bad certificate",
            "ready while it is disabled",
        ),
    ),
    Row(
        "under Report and Suspend: no certificate, never Ready, what vanished made anew, noise at each look",
        (
            f"{D}::test_drift_that_is_left_holds_up_neither_certificate_nor_ready",
            f"{D}::test_what_was_deleted_in_aws_is_left_where_the_policy_says_so",
            f"{M}::test_drift_that_stays_is_counted_once",
        ),
        (
            "a policy that leaves drift leaves everything",
            "what vanished is made anew whatever the policy",
            "drift is counted at each look",
        ),
    ),
    Row(
        "a capital letter or a domain that is said twice is drift for ever",
        (f"{D}::test_domains_are_a_set_of_names_in_lower_case",),
        ("domains of AWS are taken in their case",),
    ),
    Row(
        "the last parameter or customization cannot be taken away",
        (
            f"{D}::test_what_is_emptied_is_sent_and_what_is_unsaid_is_not",
            f"{T}::test_an_edit_is_rolled_out_once_and_leaves_the_rest",
            f"{T}::test_taking_an_edit_back_takes_it_back_in_aws",
            f"{WIRE}/test_tenant_life.py::test_parameters_and_customizations_can_be_taken_back",
        ),
        ("what is emptied is left out", "nothing is found to be emptied"),
    ),
    Row(
        "each update asks for another managed certificate",
        (
            f"{D}::test_an_unrelated_edit_asks_for_no_second_certificate",
            f"{C}::test_no_second_request_while_one_is_pending",
        ),
        ("each update asks for a certificate", "each plan asks for a certificate"),
    ),
    Row(
        "lists are read from the first page; parents are read for each tenant",
        (
            f"{D}::test_the_default_group_is_found_on_whatever_page",
            f"{D}::test_conflicts_are_read_to_the_last_page",
            f"{P}::test_many_that_are_made_at_once_share_the_calls_for_their_parent",
        ),
        (
            "connection groups are read from the first page",
            "conflicts are read from the first page",
            "a parent is read for each of its tenants",
        ),
    ),
    Row(
        "certificates are looked up in the wrong region, and only where records are made",
        (
            f"{WIRE}/test_credentials.py::test_roles_are_assumed_where_the_endpoint_says_and_in_its_region",
            f"{P}::test_each_problem_has_its_reason_and_words",
        ),
        (
            "certificates are read in the region of the config",
            "what the certificates cover is looked at only where records are made",
        ),
    ),
    Row(
        "each InvalidArgument of a creation waits for DNS, and of an update none does",
        (
            f"{E}::test_unproven_ownership_means_wait",
            f"{E}::test_each_class_has_its_retry",
            f"{C}::test_an_added_domain_is_sent_with_a_request_and_holds_up_nothing_else",
        ),
        (
            "every invalid argument is taken for unproven ownership",
            "unproven ownership is taken for a bad spec",
        ),
    ),
    Row(
        "metrics cannot be read as installed; the port of the probes is a flag that moves only one end",
        (
            PAGES,
            f"{RUNTIME}/test_manager.py::test_metrics_have_a_port_of_their_own_and_count_what_was_done",
            "tests/integration/test_dry_run.py::test_whose_the_credentials_are_and_what_is_measured",
        ),
        (
            "no metrics unless asked for",
            "pages are served inside the pod only",
            "the health port is where it always was",
        ),
    ),
    Row(
        "no pause, no observe-only, no orphaning, no policy for one tenant, no second account, no plan, no "
        "web ACL, no connection groups, no dry run, no way out of a finalizer",
        (
            f"{RUNTIME}/reconcile/test_reconciler_guards.py::test_guard",
            f"{RUNTIME}/reconcile/test_reconciler_deletion.py::test_deletion",
            f"{O}::test_an_observe_only_resource_needs_no_ownership_and_gains_none",
            f"{T}::test_drift_is_left_where_the_policy_says_so",
            f"{WIRE}/test_credentials.py::test_two_accounts_never_mix",
            f"{WIRE}/test_rehearsal.py::test_what_is_planned_is_what_is_sent_and_nothing_is_sent_before",
            f"{T}::test_an_edit_is_rolled_out_once_and_leaves_the_rest",
            f"{D}::test_both_kinds_of_both_trees_are_managed",
        ),
        (
            "a paused resource is reconciled",
            "a resource that only looks needs ownership",
            "an orphan is looked at first",
            "of a resource only Enforce is read",
            "accounts share a pace",
            "a rehearsal may write",
            "a web ACL is not sent",
            "connection groups are not managed",
        ),
    ),
    Row(
        "no election unless asked for; what is refused for good is retried for ever at one pace; a finalizer "
        "writes the whole object",
        (
            f"{MAIN}::test_by_default_it_takes_part_in_the_election_and_serves_metrics",
            f"{UNIT}/cloudfront/safety/test_retry_delays.py::test_the_first_comes_at_the_poll_interval_and_later_ones_later",
            f"{UNIT}/cloudfront/safety/test_retry_delays.py::test_a_day_of_refusals_is_few_calls_and_ends_with_the_spec_or_the_world",
            f"{RUNTIME}/reconcile/test_writes.py::test_a_finalizer_is_a_patch_of_metadata_and_of_nothing_else",
        ),
        (
            "no election unless asked for",
            "terminal failures come as often as polls",
            "a finalizer is written with the whole resource",
        ),
    ),
)


@pytest.mark.parametrize("row", DEFECTS, ids=lambda row: row.words[:50])
def test_each_has_tests_and_a_mutation_that_they_notice(row: Row) -> None:
    assert row.tests
    assert row.mutations
    assert proofs.missing_tests(row) == []
    assert proofs.unproven(row) == []


def test_none_is_forgotten() -> None:
    assert len(DEFECTS) == 19
    told = {name for row in DEFECTS for name in row.mutations}
    assert proofs.mutations_of(PROVIDER_DEFECTS) <= told


def test_a_gap_is_noticed() -> None:
    gone = Row(
        "x", (f"{D}::test_gone", f"{MAIN}::test_by_default"), ("no metrics unless asked for", "unheard of")
    )
    assert proofs.missing_tests(gone) == list(gone.tests)
    assert proofs.unproven(gone) == list(gone.mutations)
