"""Mutations of the function's ports, to which any pod may connect."""

from tests.mutants.mutation import Mutation

_SERVER = ("unit/function/serving/test_server.py",)

FUNCTION_PORTS: tuple[Mutation, ...] = (
    Mutation(
        "all large requests are answered at once",
        "serving/large_requests.py",
        "        if size < LARGE:\n",
        "        if True:\n",
        "a few hundred large objects of one namespace stop the function for all",
        ("unit/function/serving/test_large_requests.py",),
    ),
    Mutation(
        "a handshake takes two minutes",
        "serving/server.py",
        '            ("grpc.server_handshake_timeout_ms", int(_HANDSHAKE_SECONDS * 1000)),\n',
        "",
        "clients without a certificate hold files and memory",
        _SERVER,
    ),
    Mutation(
        "the function has any number of connections",
        "serving/server.py",
        '            ("grpc.max_allowed_incoming_connections", _MOST_CONNECTIONS),\n',
        "",
        "clients without a certificate use up the memory, and the function ends",
        _SERVER,
    ),
    Mutation(
        "one connection has any number of calls",
        "serving/server.py",
        "_MOST_STREAMS: Final = 256",
        "_MOST_STREAMS: Final = 1 << 30",
        "the requests of all of them are in memory",
        _SERVER,
    ),
    Mutation(
        "the function never reads its certificate again",
        "serving/certificates.py",
        "                if self._read() == self._used:\n",
        "                if True:\n",
        "after a new CA, Crossplane cannot connect until the pod restarts",
        ("unit/function/serving/test_certificates.py",),
    ),
    Mutation(
        "half of a renewed certificate ends the connections",
        "serving/certificates.py",
        "            except StartupFailed as error:\n",
        "            except ZeroDivisionError as error:\n",
        "a handshake in the moment of a renewal fails",
        ("unit/function/serving/test_certificates.py",),
    ),
    Mutation(
        "the function keeps few files open",
        "main.py",
        "    open_files.raise_limit()\n",
        "",
        "a thousand silent connections stop the composition of all claims",
        ("unit/function/test_main.py",),
    ),
    Mutation(
        "the metrics stand at every path",
        "serving/metrics.py",
        '"/metrics": Scrapes',
        '"/": Scrapes',
        "the liveness probe makes the metrics",
        ("unit/function/serving/test_metrics.py",),
    ),
)
