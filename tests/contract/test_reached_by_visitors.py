"""What a claim says of visitors: CloudFront serves its domain, and DNS leads there or does not."""

from __future__ import annotations

from tests.contract.test_isolation_switches import DOMAINS, Shop


def told(shop: Shop) -> dict[str, tuple[str, str]]:
    return {type_: says[:2] for type_, says in shop.said[-1].items() if type_ in ("Live", "Degraded")}


def look(shop: Shop, hours: float) -> None:
    """Go on for that long, in which the provider looks twice."""
    seconds = hours * 3600
    for world in shop.worlds.values():
        world.clock.advance(seconds)
    shop.aws.admin("POST", "clock", {"step": seconds})
    shop.turn(2)


def test_a_record_that_is_made_late_and_lost_later(aws):
    shop = Shop(aws, "Shared", {})
    shop.turn(20)
    assert told(shop) == {"Live": ("True", "Served"), "Degraded": ("False", "Recovered")}

    instructions = shop.worlds["tenant"].obj["status"]["dnsInstructions"]
    for each in instructions:
        aws.admin("POST", "records", {"name": each["name"], "type": each["type"], "values": [each["value"]]})
    look(shop, 1)
    assert told(shop) == {"Live": ("True", "Live"), "Degraded": ("False", "Recovered")}

    aws.admin("DELETE", f"records?name={DOMAINS[1]}")
    look(shop, 0.1)
    assert told(shop)["Degraded"] == ("False", "Recovered")
    look(shop, 0.1)
    assert told(shop) == {"Live": ("True", "Served"), "Degraded": ("True", "DNSRecordLost")}
    assert f"visitors of {DOMAINS[1]} to" in shop.said[-1]["Live"][2]
    instruction = next(each for each in instructions if each["name"] == DOMAINS[1])
    made = {"name": instruction["name"], "type": instruction["type"], "values": [instruction["value"]]}
    aws.admin("POST", "records", made)
    look(shop, 0.2)
    assert told(shop) == {"Live": ("True", "Live"), "Degraded": ("False", "Recovered")}
