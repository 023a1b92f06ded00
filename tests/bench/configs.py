"""Memory of many ProviderConfigs of one account, each with access keys and a namespace of its own.

The provider's own code and the runtime's reconciler run in a process of their own (opened_configs.py), the
emulator in another one. They talk over TLS, as with AWS, with the usual certificates of authorities and one
more.

    one caller          the emulator has one caller for all access keys that IAM did not create there
    a caller for each   each access key belongs to an IAM user of its own
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3

from tests.bench import tls_front
from tests.bench.opened_configs import SECRET, Held
from tests.bench.servers import free_port, server
from tests.contract.admin import Admin
from tests.contract.emulated import ACCOUNT, SEED

CONFIGS = int(os.environ.get("BENCH_CONFIGS", "1000"))
ONE, EACH = "one caller", "a caller for each"


def held(configs: int = CONFIGS) -> list[Held]:
    """Measure both."""
    return [_measured(ONE, configs), _measured(EACH, configs)]


def _measured(name: str, configs: int) -> Held:
    port = free_port()
    with (
        TemporaryDirectory() as folder,
        server("-m", "edgetenants_emulator.main", "--port", str(port), "--rate", "0", port=port),
        tls_front.serving(Path(folder), port) as url,
    ):
        plain = f"http://127.0.0.1:{port}"
        given = {"name": name, "url": url, "admin": plain, "keys": _keys(name, plain, configs)}
        environment = {**os.environ, "AWS_CA_BUNDLE": str(Path(folder) / "authorities.pem")}
        command = [sys.executable, "-m", "tests.bench.opened_configs"]
        ran = subprocess.run(
            command, env=environment, input=json.dumps(given), stdout=subprocess.PIPE, text=True, check=True
        )
    return Held(**json.loads(ran.stdout))


def _keys(name: str, url: str, configs: int) -> list[str]:
    admin = Admin(url)
    admin("POST", "seed", SEED)
    admin("PATCH", "settings", {"tenants_per_account": 2 * configs})
    if name == ONE:
        return [f"AKIA{number:016}" for number in range(configs)]
    iam = boto3.client(
        "iam",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key=SECRET,
    )
    names = [f"team-{number}" for number in range(configs)]
    for each in names:
        iam.create_user(UserName=each)
    return [iam.create_access_key(UserName=each)["AccessKey"]["AccessKeyId"] for each in names]
