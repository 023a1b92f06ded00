"""Mutations of how provider configs name DNS servers, and of what is remembered of these."""

from tests.mutants.mutation import Mutation

_SERVERS = ("unit/provider/cloudfront/account/test_dns_servers.py",)
_REMEMBERING = ("unit/provider/dns/test_remembering.py",)
_PACE = ("unit/provider/dns/test_server_pace.py",)

_OF_TEAMS: tuple[Mutation, ...] = (
    Mutation(
        "a team names any DNS server",
        "cloudfront/account/dns_servers.py",
        "        if (_bare(host), port) not in self._allowed.servers:\n",
        "        if not host:\n",
        "a team has the provider send requests to services of the cluster",
        _SERVERS,
    ),
    Mutation(
        "an allowed host is allowed with any port",
        "cloudfront/account/dns_servers.py",
        "        if (_bare(host), port) not in self._allowed.servers:\n",
        "        if _bare(host) not in {each for each, _ in self._allowed.servers}:\n",
        "a team reaches other services of the DNS server's host",
        _SERVERS,
    ),
    Mutation(
        "PowerDNS of a team is not checked",
        "cloudfront/account/dns_servers.py",
        '        of_team = self._check(config, f"{field}.url", host, port)\n',
        "        of_team = bool(config.key.namespace)\n",
        "a team has the provider send requests to services of the cluster",
        _SERVERS,
    ),
    Mutation(
        "a team sends updates without a signature",
        "cloudfront/account/dns_servers.py",
        "        if of_team and secret is None:\n",
        "        if False and secret is None:\n",
        "a team changes zones with the rights of the provider's address",
        _SERVERS,
    ),
    Mutation(
        "the zone of a team leads the provider anywhere",
        "cloudfront/account/dns_servers.py",
        "NameServers(addresses=_public_addresses if of_team else system_addresses)",
        "NameServers(addresses=system_addresses)",
        "a team has the provider send queries to any address of the cluster",
        _SERVERS,
    ),
    Mutation(
        "the memory of the cluster's config is a team's, too",
        "cloudfront/account/dns_servers.py",
        "secret or {}, of_team)",
        "secret or {})",
        "a team's store asks private addresses",
        _SERVERS,
    ),
    Mutation(
        "configs with different keys share a store",
        "cloudfront/account/dns_servers.py",
        '_digest("rfc2136", said.model_dump_json(), secret or {}, of_team)',
        '_digest("rfc2136", said.model_dump_json(), {}, of_team)',
        "a team writes with the key of another one",
        _SERVERS,
    ),
    Mutation(
        "a rotated Secret waits for a restart",
        "cloudfront/account/dns_servers.py",
        "default=str), config.secrets)",
        "default=str))",
        "all records fail after a rotation",
        _SERVERS,
    ),
    Mutation(
        "a config that goes keeps its store",
        "cloudfront/account/dns_servers.py",
        "            self._opened.pop(uid, None)\n",
        "            self._opened.get(uid, None)\n",
        "configs that are created and deleted fill the memory",
        _SERVERS,
    ),
    Mutation(
        "any number of configs is kept",
        "cloudfront/account/dns_servers.py",
        "        while len(self._opened) > _MOST:\n",
        "        while False:\n",
        "namespaces fill the memory",
        _SERVERS,
    ),
    Mutation(
        "a team's many configs push out those of others",
        "cloudfront/account/dns_servers.py",
        "        for uid in of_team[:-_MOST_OF_NAMESPACE]:\n",
        "        for uid in of_team[:0]:\n",
        "what the provider knows of the changes of others is lost",
        _SERVERS,
    ),
)
_OF_SECRETS: tuple[Mutation, ...] = (
    Mutation(
        "an algorithm is not checked before its use",
        "cloudfront/account/secret_values.py",
        "    if algorithm not in ALGORITHMS:\n",
        "    if not algorithm:\n",
        "a secret in the wrong key of a Secret is in a message",
        _SERVERS,
    ),
    Mutation(
        "the name of a key is not checked before its use",
        "cloudfront/account/secret_values.py",
        "    except ValueError:\n        raise",
        "    except KeyError:\n        raise",
        "a secret in the wrong key of a Secret is in a message",
        _SERVERS,
    ),
    Mutation(
        "an API key may have line ends",
        "cloudfront/account/secret_values.py",
        " or not _PRINTABLE.fullmatch(text)",
        "",
        "the HTTP client quotes the key in its error",
        _SERVERS,
    ),
)
_OF_MEMORY: tuple[Mutation, ...] = (
    Mutation(
        "what was read before a change is remembered after it",
        "dns/remembering.py",
        "            if (zone.id, name) not in written:\n",
        "            if name:\n",
        "a record that was written is written again, and one that was removed counts as there",
        _REMEMBERING,
    ),
    Mutation(
        "a change that failed is remembered as if nothing had happened",
        "dns/remembering.py",
        "        finally:\n            self._wrote(zone, change.names)\n",
        "        except KeyError:\n            self._wrote(zone, change.names)\n",
        "a change whose answer was lost is repeated for ten minutes",
        _REMEMBERING,
    ),
    Mutation(
        "a fresh read is not fresh",
        "dns/remembering.py",
        "        known = {} if fresh else self._known(zone, wanted)\n",
        "        known = self._known(zone, wanted)\n",
        "records stay when their tenant goes",
        _REMEMBERING,
    ),
    Mutation(
        "a zone that is gone is remembered",
        "dns/remembering.py",
        "            if zone and error.failure in (Failure.NO_ZONE, Failure.NOT_PERMITTED):\n",
        "            if False:\n",
        "the tenant says for ten minutes what is not true",
        _REMEMBERING,
    ),
    Mutation(
        "names of two zones are one",
        "dns/remembering.py",
        "            found = {name: self._names.get((zone.id, name)) for name in names}\n",
        '            found = {name: self._names.get(("other", name)) for name in names}\n',
        "the records of a zone are taken for those of another one",
        _REMEMBERING,
    ),
    Mutation(
        "memory has no end",
        "dns/remembering.py",
        "        while len(self._kept) > _MOST or self.bytes > self._room:\n",
        "        while self.bytes > self._room:\n",
        "domains that come and go fill the memory",
        _REMEMBERING,
    ),
    Mutation(
        "each request waits for a server that does not answer",
        "dns/server_pace.py",
        "            self._until = self._clock.now() + self._pause\n",
        "            pass\n",
        "a DNS server that is down stops all workers",
        _PACE,
    ),
    Mutation(
        "after a pause all requests try at once",
        "dns/server_pace.py",
        "                self._until = self._clock.now() + _TRY_SECONDS\n",
        "                pass\n",
        "a DNS server that is down stops all workers every half minute",
        _PACE,
    ),
    Mutation(
        "a refusal pauses the server",
        "dns/server_pace.py",
        "        except DnsError:\n            self._answered()\n",
        "        except DnsError:\n            self._failed()\n",
        "a wrong key of one team stops the records of all others",
        _PACE,
    ),
    Mutation(
        "a reconcile out of time pauses the server",
        "dns/server_pace.py",
        "            if deadline.remaining() > _SHORT:\n",
        "            if True:\n",
        "a slow reconcile of one team stops the records of all others",
        _PACE,
    ),
)

_OF_PACE: tuple[Mutation, ...] = (
    Mutation(
        "who waited for a turn asks a server that did not answer",
        "dns/server_pace.py",
        "            with self.watched():\n                yield\n",
        "            yield\n",
        "a DNS server that is down stops one worker after another",
        _PACE,
    ),
    Mutation(
        "a config for DNS only asks AWS without a signature",
        "cloudfront/account/sessions.py",
        "        _check_credentials(config, spec)\n",
        "",
        "a message of AWS does not say that the ProviderConfig is the wrong one",
        (
            "unit/provider/cloudfront/account/test_sessions.py::test_a_config_for_dns_records_only_is_no_account",
        ),
    ),
)

PROVIDER_DNS_SERVERS: tuple[Mutation, ...] = (*_OF_TEAMS, *_OF_SECRETS, *_OF_MEMORY, *_OF_PACE)
