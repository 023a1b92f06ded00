"""Mutations of what messages name and offer."""

from tests.mutants.mutation import Mutation

MESSAGES = ("unit/provider/test_messages.py",)
FIELD_NAMES = ("unit/function/test_field_names.py",)

PROVIDER_LEFTOVERS = (
    Mutation(
        "a claim that adopts is told of its metadata.name",
        "cloudfront/advice.py",
        "    if mr.external_name and mr.external_name == mr.annotations.get(ADOPT_ANNOTATION):\n",
        "    if False:\n",
        "the claim's author changes the name, and the id in spec.adopt stays wrong",
        MESSAGES,
    ),
    Mutation(
        "a tenant that the drift policy leaves disabled is to be enabled in AWS alone",
        "cloudfront/conditions.py",
        "    if world.left:\n",
        "    if False:\n",
        "nobody is told that the drift policy leaves it so",
        MESSAGES,
    ),
    Mutation(
        "the author of a claim disables a resource that is composed",
        "cloudfront/advice.py",
        'return "suspend its claim" if _of_claim(mr) else',
        "return",
        "the function sets the field back at once",
        MESSAGES,
    ),
)

FUNCTION_LEFTOVERS = (
    Mutation(
        "fields beside forProvider keep their names",
        "fieldnames.py",
        "    if beside:\n",
        "    if False:\n",
        "the platform team is sent to a field that the function sets back",
        FIELD_NAMES,
    ),
    Mutation(
        "the fields of a difference keep their names",
        "fieldnames.py",
        'found["field"] or found["differing"]',
        'found["field"] or ""',
        "a claim's author looks for customizations in the claim",
        FIELD_NAMES,
    ),
    Mutation(
        "the Secret of a legacy claim has the modern claim's field",
        "fieldnames.py",
        '"spec.connectionSecretName" if order.composite.namespaced else ""',
        '"spec.connectionSecretName"',
        "a legacy claim has no such field",
        FIELD_NAMES,
    ),
    Mutation(
        "the claim's own connection group has no field",
        "fieldnames.py",
        '    "connectionGroupIdSelector": OverridableField.CONNECTION,\n',
        "",
        "a claim's reader is told of a selector that no claim has",
        FIELD_NAMES,
    ),
)
