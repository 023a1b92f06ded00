// Leads a distribution and its tenants through their whole life by AWS's SDK for JavaScript: every operation of
// CloudFront that the emulator has, and those of ACM, Route 53 and STS that belong to it. Each step compares what it
// reads with what it sent. It prints each bad step, and ends with 1 if there was any.
//
//   node life.mjs http://127.0.0.1:4599 CERTIFICATE_ARN
//
// The certificate is one in ACM, issued, of example.com and *.example.com. The emulator's clock should run fast
// (--rate 600): deployments are waited for.

import * as acm from "@aws-sdk/client-acm";
import * as cf from "@aws-sdk/client-cloudfront";
import * as route53 from "@aws-sdk/client-route-53";
import * as sts from "@aws-sdk/client-sts";
import { all, Steps, WAIT } from "./steps.mjs";

// One that no other test has.
const ACCOUNT = "333344446666";
const OTHER_ACCOUNT = "210987654321";
const CACHING_OPTIMIZED = "658327ea-f89d-4fab-a63d-7e88639e58f6";
const WEB_ACL = `arn:aws:wafv2:us-east-1:${ACCOUNT}:global/webacl/edge/0123`;
const LOCATION = "https://cloudfront.amazonaws.com/2020-05-31";

const [endpoint, certificate] = process.argv.slice(2);
if (!certificate) {
  console.error("usage: node life.mjs URL CERTIFICATE_ARN");
  process.exit(2);
}

const steps = new Steps();
const step = steps.step.bind(steps);
const same = steps.same.bind(steps);
const refused = steps.refused.bind(steps);

function config() {
  const credentials = { accessKeyId: ACCOUNT, secretAccessKey: "any" };
  return { endpoint, region: "us-east-1", credentials, maxAttempts: 1 };
}

const client = steps.losingNothing(new cf.CloudFront(config()));
const certificates = new acm.ACM(config());
const dns = steps.losingNothing(new route53.Route53(config()));
const identities = steps.losingNothing(new sts.STS(config()));

const tagged = (Key, Value) => ({ Items: [{ Key, Value }] });
const domains = (...names) => names.map((Domain) => ({ Domain }));
const parameters = (pairs) => Object.entries(pairs).map(([Name, Value]) => ({ Name, Value }));
const restricted = (...Locations) => ({ RestrictionType: "whitelist", Locations });

function multiTenant(CallerReference) {
  const definition = (Name, schema) => ({ Name, Definition: { StringSchema: schema } });
  return {
    CallerReference,
    Comment: "a <distribution> & its tenants",
    Enabled: true,
    ConnectionMode: "tenant-only",
    Origins: {
      Quantity: 1,
      Items: [
        {
          Id: "o",
          DomainName: "o.example.com",
          OriginPath: "/{{tenantName}}",
          CustomOriginConfig: { HTTPPort: 80, HTTPSPort: 443, OriginProtocolPolicy: "https-only" },
        },
      ],
    },
    DefaultCacheBehavior: {
      TargetOriginId: "o",
      CachePolicyId: CACHING_OPTIMIZED,
      ViewerProtocolPolicy: "https-only",
    },
    TenantConfig: {
      ParameterDefinitions: [
        definition("tenantName", { Required: true, Comment: "part of the path" }),
        definition("tier", { Required: false, DefaultValue: "silver" }),
      ],
    },
    ViewerCertificate: {
      ACMCertificateArn: certificate,
      SSLSupportMethod: "sni-only",
      MinimumProtocolVersion: "TLSv1.2_2021",
    },
  };
}

function standard(CallerReference, AnycastIpListId) {
  const { TenantConfig, ...config } = multiTenant(CallerReference);
  const [origin] = config.Origins.Items;
  return {
    ...config,
    ConnectionMode: "direct",
    Origins: { Quantity: 1, Items: [{ ...origin, OriginPath: "" }] },
    Aliases: { Quantity: 1, Items: ["standard.example.com"] },
    Restrictions: { GeoRestriction: { RestrictionType: "whitelist", Quantity: 2, Items: ["DE", "FR"] } },
    AnycastIpListId,
  };
}

// STS, whose answers are of the query protocol.
await step("STS", async () => {
  same("Account", (await identities.getCallerIdentity({})).Account, ACCOUNT);
  const role = { RoleArn: `arn:aws:iam::${OTHER_ACCOUNT}:role/edge`, RoleSessionName: "js" };
  const { Credentials: given } = await identities.assumeRole(role);
  const credentials = {
    accessKeyId: given.AccessKeyId,
    secretAccessKey: given.SecretAccessKey,
    sessionToken: given.SessionToken,
  };
  const theirs = new sts.STS({ ...config(), credentials });
  same("Account", (await theirs.getCallerIdentity({})).Account, OTHER_ACCOUNT);
  if (!(given.Expiration > new Date())) steps.fail(`Expiration is ${given.Expiration}`);
  await refused(
    sts.InvalidIdentityTokenException,
    identities.assumeRoleWithWebIdentity({ ...role, WebIdentityToken: "none" }),
  );
});

// ACM, which speaks JSON.
await step("ACM", async () => {
  const { Certificate: found } = await certificates.describeCertificate({ CertificateArn: certificate });
  same("Status", found.Status, "ISSUED");
  same("SubjectAlternativeNames", [...found.SubjectAlternativeNames].sort(), ["*.example.com", "example.com"]);
  if (!(found.NotAfter > new Date())) steps.fail(`NotAfter is ${found.NotAfter}`);
  const { CertificateArn } = await certificates.requestCertificate({ DomainName: "asked.example.org" });
  const pages = acm.paginateListCertificates({ client: certificates, pageSize: 1 }, {});
  const arns = (await all(pages, (page) => page.CertificateSummaryList)).map((each) => each.CertificateArn);
  for (const arn of [certificate, CertificateArn]) {
    if (!arns.includes(arn)) steps.fail(`ListCertificates lacks ${arn}`);
  }
  await certificates.deleteCertificate({ CertificateArn });
  await refused(acm.ResourceNotFoundException, certificates.describeCertificate({ CertificateArn }));
});

// Route 53, whose XML is CloudFront's protocol too.
let zone;
await step("zones of Route 53", async () => {
  for (const Name of ["example.net.", "example.edu."]) {
    const made = await dns.createHostedZone({ Name, CallerReference: `js ${Name}` });
    same("Name", made.HostedZone.Name, Name);
    zone ??= made.HostedZone.Id;
  }
  same("Name", (await dns.getHostedZone({ Id: zone })).HostedZone.Name, "example.net.");
  const listed = await all(
    route53.paginateListHostedZones({ client: dns, pageSize: 1 }, {}),
    (page) => page.HostedZones,
  );
  same("names", listed.map((each) => each.Name).sort(), ["example.edu.", "example.net."]);
});

const recordSet = (Name, Type, values) => ({
  Name,
  Type,
  TTL: 60,
  ResourceRecords: values.map((Value) => ({ Value })),
});

const change = (Action, name, type, ...values) =>
  dns.changeResourceRecordSets({
    HostedZoneId: zone,
    ChangeBatch: { Changes: [{ Action, ResourceRecordSet: recordSet(name, type, values) }] },
  });

// Changes a record of example.net and waits until the DNS has it.
async function record(action, name, type, ...values) {
  const { ChangeInfo } = await change(action, name, type, ...values);
  await route53.waitUntilResourceRecordSetsChanged({ client: dns, ...WAIT }, { Id: ChangeInfo.Id });
  same("Status", (await dns.getChange({ Id: ChangeInfo.Id })).ChangeInfo.Status, "INSYNC");
}

const TEXT = ["text.example.net.", "TXT", '"one"', '"two <&>"'];
await step("records of Route 53", async () => {
  await record("CREATE", ...TEXT);
  const [name, type, ...values] = TEXT;
  const { ResourceRecordSets: found } = await dns.listResourceRecordSets({
    HostedZoneId: zone,
    StartRecordName: name,
    StartRecordType: type,
  });
  steps.holds(found[0], recordSet(name, type, values));
  await refused(route53.InvalidChangeBatch, change("DELETE", "absent.example.net.", "A", "192.0.2.1"));
  await refused(route53.NoSuchHostedZone, dns.getHostedZone({ Id: "Z0123456789ABCDEFGHIJ" }));
  await refused(route53.HostedZoneNotEmpty, dns.deleteHostedZone({ Id: zone }));
  await refused(route53.NoSuchChange, dns.getChange({ Id: "C0123456789" }));
});

let list;
const deployedList = (Id) =>
  steps.until("Deployed", async () => (await client.getAnycastIpList({ Id })).AnycastIpList.Status === "Deployed");

await step("Anycast lists", async () => {
  const made = await client.createAnycastIpList({ Name: "edge", IpCount: 3, Tags: tagged("team", "edge") });
  list = made.AnycastIpList.Id;
  same("addresses", made.AnycastIpList.AnycastIps.length, 3);
  await deployedList(list);
  const found = await client.getAnycastIpList({ Id: list });
  same("AnycastIpList", found.AnycastIpList, { ...made.AnycastIpList, Status: "Deployed" });
  const update = { Id: list, IfMatch: made.ETag, IpAddressType: "dualstack" };
  same("addresses", (await client.updateAnycastIpList(update)).AnycastIpList.AnycastIps.length, 6);
  await refused(cf.PreconditionFailed, client.updateAnycastIpList(update));
  const second = await client.createAnycastIpList({ Name: "second", IpCount: 21 });
  const ids = [];
  // The SDK has no paginator for this list.
  for (let Marker, more = true; more && ids.length < 9; ) {
    const { AnycastIpLists: page } = await client.listAnycastIpLists({ MaxItems: 1, Marker });
    same("Quantity", page.Quantity, page.Items.length);
    ids.push(...page.Items.map((each) => each.Id));
    [Marker, more] = [page.NextMarker, page.IsTruncated];
  }
  same("lists", ids, [list, second.AnycastIpList.Id]);
  await deployedList(second.AnycastIpList.Id);
  const gone = { Id: second.AnycastIpList.Id, IfMatch: second.ETag };
  await client.deleteAnycastIpList(gone);
  await refused(cf.EntityNotFound, client.deleteAnycastIpList(gone));
});

let group;
let groupTag;
await step("connection groups", async () => {
  const { Tags, ...sent } = {
    Name: "edge",
    Ipv6Enabled: false,
    Enabled: true,
    AnycastIpListId: list,
    Tags: tagged("team", "edge"),
  };
  const made = await client.createConnectionGroup({ ...sent, Tags });
  group = made.ConnectionGroup;
  steps.holds(group, { ...sent, Tags });
  await refused(cf.EntityAlreadyExists, client.createConnectionGroup(sent));
  for (const Identifier of [group.Id, group.Name, group.Arn]) {
    const found = await client.getConnectionGroup({ Identifier });
    same("CreatedTime", found.ConnectionGroup.CreatedTime, group.CreatedTime);
    steps.holds(found, { ETag: made.ETag, ConnectionGroup: sent });
  }
  const { RoutingEndpoint } = group;
  const found = await client.getConnectionGroupByRoutingEndpoint({ RoutingEndpoint });
  same("Id", found.ConnectionGroup.Id, group.Id);
  await refused(cf.EntityNotFound, client.getConnectionGroup({ Identifier: "absent" }));
  const update = { Id: group.Id, IfMatch: made.ETag, Ipv6Enabled: true, Enabled: true };
  const changed = await client.updateConnectionGroup(update);
  same("Ipv6Enabled", changed.ConnectionGroup.Ipv6Enabled, true);
  same("AnycastIpListId", changed.ConnectionGroup.AnycastIpListId, list);
  await refused(cf.PreconditionFailed, client.updateConnectionGroup(update));
  await refused(cf.InvalidIfMatchVersion, client.updateConnectionGroup({ ...update, IfMatch: "no version" }));
  groupTag = changed.ETag;
  await refused(cf.InvalidArgument, client.createConnectionGroup({ Name: "no name" }));
  const gone = { Id: group.Id, IfMatch: groupTag };
  await refused(cf.ResourceNotDisabled, client.deleteConnectionGroup(gone));
  const used = await client.getAnycastIpList({ Id: list });
  await refused(
    cf.CannotDeleteEntityWhileInUse,
    client.deleteAnycastIpList({ Id: list, IfMatch: used.ETag }),
  );
});

let distribution;
await step("CreateDistribution, GetDistribution", async () => {
  const DistributionConfig = multiTenant("first");
  const made = await client.createDistribution({ DistributionConfig });
  distribution = made.Distribution.Id;
  steps.holds(made.Distribution.DistributionConfig, DistributionConfig);
  same("Location", made.Location, `${LOCATION}/distribution/${distribution}`);
  await cf.waitUntilDistributionDeployed({ client, ...WAIT }, { Id: distribution });
  const found = await client.getDistribution({ Id: distribution });
  same("Distribution", found.Distribution, { ...made.Distribution, Status: "Deployed" });
  same("ETag", found.ETag, made.ETag);
});

await step("GetDistributionConfig and UpdateDistribution keep what they do not change", async () => {
  const before = await client.getDistributionConfig({ Id: distribution });
  same("TenantConfig", before.DistributionConfig.TenantConfig, multiTenant("first").TenantConfig);
  const DistributionConfig = { ...before.DistributionConfig, Comment: "changed" };
  const update = { Id: distribution, IfMatch: before.ETag, DistributionConfig };
  const changed = await client.updateDistribution(update);
  same("DistributionConfig", changed.Distribution.DistributionConfig, DistributionConfig);
  const after = await client.getDistributionConfig({ Id: distribution });
  same("DistributionConfig", after.DistributionConfig, DistributionConfig);
  same("ETag", after.ETag, changed.ETag);
  await refused(cf.PreconditionFailed, client.updateDistribution(update));
});

let second;
await step("CreateDistributionWithTags, of a standard one", async () => {
  const DistributionConfig = standard("second", list);
  const Tags = tagged("team", "web");
  const made = await client.createDistributionWithTags({
    DistributionConfigWithTags: { DistributionConfig, Tags },
  });
  second = made.Distribution.Id;
  steps.holds(made.Distribution.DistributionConfig, DistributionConfig);
  same("Tags", (await client.listTagsForResource({ Resource: made.Distribution.ARN })).Tags, Tags);
});

await step("lists of distributions", async () => {
  const items = (page) => page.DistributionList.Items;
  const everyone = await all(cf.paginateListDistributions({ client, pageSize: 1 }, {}), items);
  same("ListDistributions", everyone.map((each) => each.Id), [distribution, second]);
  const asked = { ConnectionMode: "tenant-only" };
  const some = await all(cf.paginateListDistributionsByConnectionMode({ client, pageSize: 1 }, asked), items);
  same("ListDistributionsByConnectionMode", some.map((each) => each.Id), [distribution]);
  const anycast = await client.listDistributionsByAnycastIpListId({ AnycastIpListId: list });
  same("ListDistributionsByAnycastIpListId", items(anycast).map((each) => each.Id), [second]);
});

const batch = (CallerReference) => ({ CallerReference, Paths: { Quantity: 2, Items: ["/a", "/b/*"] } });

await step("invalidations of a distribution", async () => {
  const named = { DistributionId: second };
  const create = (reference) => client.createInvalidation({ ...named, InvalidationBatch: batch(reference) });
  const made = await create("first");
  const { Id } = made.Invalidation;
  same("InvalidationBatch", made.Invalidation.InvalidationBatch, batch("first"));
  same("Location", made.Location, `${LOCATION}/distribution/${second}/invalidation/${Id}`);
  await cf.waitUntilInvalidationCompleted({ client, ...WAIT }, { ...named, Id });
  const found = await client.getInvalidation({ ...named, Id });
  same("Invalidation", found.Invalidation, { ...made.Invalidation, Status: "Completed" });
  const newer = await create("second");
  const listed = await all(
    cf.paginateListInvalidations({ client, pageSize: 1 }, named),
    (page) => page.InvalidationList.Items,
  );
  same("list", listed.map((each) => each.Id), [newer.Invalidation.Id, Id]);
  await refused(cf.NoSuchInvalidation, client.getInvalidation({ ...named, Id: "I0" }));
});

await step("errors of distributions", async () => {
  const DistributionConfig = multiTenant("first");
  await refused(cf.DistributionAlreadyExists, client.createDistribution({ DistributionConfig }));
  await refused(cf.NoSuchDistribution, client.getDistribution({ Id: "E0" }));
  const { ETag } = await client.getDistribution({ Id: second });
  await refused(cf.DistributionNotDisabled, client.deleteDistribution({ Id: second, IfMatch: ETag }));
  const wrong = multiTenant("third");
  wrong.Origins.Quantity = 2;
  await refused(cf.InconsistentQuantities, client.createDistribution({ DistributionConfig: wrong }));
});

// A tenant of the first distribution, in the group.
const another = (Name, ...names) => ({
  DistributionId: distribution,
  Name,
  ConnectionGroupId: group.Id,
  Domains: domains(...names),
  Parameters: parameters({ tenantName: Name }),
});

const deployed = (Identifier) =>
  steps.until("Deployed", async () => {
    return (await client.getDistributionTenant({ Identifier })).DistributionTenant.Status === "Deployed";
  });

// Leaves a tenant deployed and disabled; how it is named for a delete.
async function disabled(Identifier) {
  const { DistributionTenant, ETag } = await client.getDistributionTenant({ Identifier });
  const { Id } = DistributionTenant;
  const changed = await client.updateDistributionTenant({ Id, IfMatch: ETag, Enabled: false });
  same("Enabled", changed.DistributionTenant.Enabled, false);
  await deployed(Id);
  return { Id, IfMatch: changed.ETag };
}

let tenant;
let tenantTag;
const acme = () => ({
  ...another("acme", "a.example.com", "b.example.com"),
  Enabled: true,
  Parameters: parameters({ tenantName: "acme", tier: "<gold> & more" }),
  Customizations: {
    Certificate: { Arn: certificate },
    GeoRestrictions: restricted("AT", "DE"),
    WebAcl: { Action: "disable" },
  },
  Tags: tagged("team", "edge"),
});

await step("CreateDistributionTenant, GetDistributionTenant", async () => {
  const made = await client.createDistributionTenant(acme());
  [tenant, tenantTag] = [made.DistributionTenant, made.ETag];
  steps.holds(tenant, acme());
  same("Status", tenant.Domains.map((each) => each.Status), ["active", "active"]);
  await deployed(tenant.Id);
  const { Tags, ...kept } = tenant; // tags are shown at the create alone
  for (const Identifier of [tenant.Id, tenant.Name, tenant.Arn]) {
    const found = await client.getDistributionTenant({ Identifier });
    same("DistributionTenant", found.DistributionTenant, { ...kept, Status: "Deployed" });
    same("ETag", found.ETag, tenantTag);
  }
  const found = await client.getDistributionTenantByDomain({ Domain: "b.example.com" });
  same("Id", found.DistributionTenant.Id, tenant.Id);
});

await step("UpdateDistributionTenant", async () => {
  const sent = {
    Domains: domains("b.example.com", "c.example.com"),
    Parameters: parameters({ tenantName: "acme" }),
    Customizations: { GeoRestrictions: restricted("FR") },
  };
  const update = { Id: tenant.Id, IfMatch: tenantTag, ...sent };
  const changed = await client.updateDistributionTenant(update);
  steps.holds(changed.DistributionTenant, sent);
  same("Customizations", changed.DistributionTenant.Customizations, sent.Customizations);
  await refused(cf.PreconditionFailed, client.updateDistributionTenant(update));
  const { Name, Arn, CreatedTime, LastModifiedTime, Status, ...all } = changed.DistributionTenant;
  const Domains = all.Domains.map(({ Domain }) => ({ Domain }));
  const again = await client.updateDistributionTenant({ ...all, Domains, IfMatch: changed.ETag });
  same("DistributionTenant", { ...again.DistributionTenant, LastModifiedTime, Status }, changed.DistributionTenant);
  tenantTag = again.ETag;
});

await step("errors of tenants", async () => {
  const create = (params) => client.createDistributionTenant(params);
  await refused(cf.EntityAlreadyExists, create(acme()));
  await refused(cf.CNAMEAlreadyExists, create(another("taken", "c.example.com")));
  await refused(cf.InvalidArgument, create(another("uncovered", "a.example.org")));
  await refused(cf.InvalidAssociation, create({ ...another("astray", "d.example.com"), DistributionId: second }));
  await refused(cf.EntityNotFound, create({ ...another("astray", "d.example.com"), DistributionId: "E0" }));
  await refused(cf.EntityNotFound, client.getDistributionTenant({ Identifier: "absent" }));
  const gone = { Id: tenant.Id, IfMatch: tenantTag };
  await refused(cf.ResourceNotDisabled, client.deleteDistributionTenant(gone));
  await refused(cf.InvalidIfMatchVersion, client.deleteDistributionTenant({ ...gone, IfMatch: "no version" }));
  const Identifier = `arn:aws:cloudfront::${OTHER_ACCOUNT}:distribution-tenant/dt_0123456789012345678901234567`;
  await refused(cf.AccessDenied, client.getDistributionTenant({ Identifier }));
});

await step("web ACLs", async () => {
  const { Id } = tenant;
  const there = await client.associateDistributionTenantWebACL({ Id, WebACLArn: WEB_ACL, IfMatch: tenantTag });
  same("WebACLArn", there.WebACLArn, WEB_ACL);
  const found = await client.getDistributionTenant({ Identifier: Id });
  same("WebAcl", found.DistributionTenant.Customizations.WebAcl, { Action: "override", Arn: WEB_ACL });
  const listed = await all(
    cf.paginateListDistributionTenantsByCustomization({ client, pageSize: 1 }, { WebACLArn: WEB_ACL }),
    (page) => page.DistributionTenantList,
  );
  same("ListDistributionTenantsByCustomization", listed.map((each) => each.Id), [Id]);
  const back = { Id, IfMatch: there.ETag };
  tenantTag = (await client.disassociateDistributionTenantWebACL(back)).ETag;
  await refused(cf.PreconditionFailed, client.disassociateDistributionTenantWebACL(back));
});

await step("tags", async () => {
  const Resource = tenant.Arn;
  await client.tagResource({ Resource, Tags: tagged("tier", "gold") });
  await client.untagResource({ Resource, TagKeys: { Items: ["team", "absent"] } });
  same("Tags", (await client.listTagsForResource({ Resource })).Tags, tagged("tier", "gold"));
  await refused(cf.InvalidTagging, client.tagResource({ Resource, Tags: tagged("aws:x", "y") }));
  await refused(cf.NoSuchResource, client.listTagsForResource({ Resource: `${Resource}0` }));
});

await step("invalidations of a tenant", async () => {
  const { Id } = tenant;
  const create = (reference) =>
    client.createInvalidationForDistributionTenant({ Id, InvalidationBatch: batch(reference) });
  const made = await create("first");
  same("InvalidationBatch", made.Invalidation.InvalidationBatch, batch("first"));
  same("Location", made.Location, `${LOCATION}/distribution-tenant/${Id}/invalidation/${made.Invalidation.Id}`);
  const asked = { DistributionTenantId: Id, Id: made.Invalidation.Id };
  await cf.waitUntilInvalidationForDistributionTenantCompleted({ client, ...WAIT }, asked);
  const found = await client.getInvalidationForDistributionTenant(asked);
  same("Invalidation", found.Invalidation, { ...made.Invalidation, Status: "Completed" });
  const newer = await create("second");
  const listed = await all(
    cf.paginateListInvalidationsForDistributionTenant({ client, pageSize: 1 }, { Id }),
    (page) => page.InvalidationList.Items,
  );
  same("list", listed.map((each) => each.Id), [newer.Invalidation.Id, made.Invalidation.Id]);
  await refused(
    cf.NoSuchInvalidation,
    client.getInvalidationForDistributionTenant({ ...asked, Id: "I0" }),
  );
});

const SHOP = "shop.example.net";
await step("a managed certificate, from its request to its use", async () => {
  await refused(cf.EntityNotFound, client.getManagedCertificateDetails({ Identifier: "acme" }));
  const ManagedCertificateRequest = {
    ValidationTokenHost: "self-hosted",
    PrimaryDomainName: SHOP,
    CertificateTransparencyLoggingPreference: "enabled",
  };
  const made = await client.createDistributionTenant({ ...another("shop", SHOP), ManagedCertificateRequest });
  const { Id, Arn } = made.DistributionTenant;
  same("Domains", made.DistributionTenant.Domains, [{ Domain: SHOP, Status: "inactive" }]);
  const details = async () => {
    return (await client.getManagedCertificateDetails({ Identifier: Id })).ManagedCertificateDetails;
  };
  const asked = await details();
  same("ValidationTokenHost", asked.ValidationTokenHost, "self-hosted");
  same("tokens", asked.ValidationTokenDetails.map((each) => each.Domain), [SHOP]);
  const [token] = asked.ValidationTokenDetails;
  if (!token.RedirectFrom || !token.RedirectTo) steps.fail(`no redirect: ${JSON.stringify(token)}`);
  const verdict = async () => {
    const found = await client.verifyDnsConfiguration({ Identifier: Id, Domain: SHOP });
    same("domains", found.DnsConfigurationList.map((each) => each.Domain), [SHOP]);
    return found.DnsConfigurationList[0];
  };
  same("Status", (await verdict()).Status, "invalid-configuration");
  if (!(await verdict()).Reason) steps.fail("no reason");
  await record("UPSERT", `${SHOP}.`, "CNAME", group.RoutingEndpoint);
  same("verdict", await verdict(), { Domain: SHOP, Status: "valid-configuration" });
  await steps.until("issued", async () => (await details()).CertificateStatus === "issued");
  const { CertificateArn } = await details();
  const { ETag } = await client.getDistributionTenant({ Identifier: Id });
  const Customizations = { Certificate: { Arn: CertificateArn } };
  const changed = await client.updateDistributionTenant({ Id, IfMatch: ETag, Customizations });
  same("Domains", changed.DistributionTenant.Domains, [{ Domain: SHOP, Status: "active" }]);
  await acm.waitUntilCertificateValidated({ client: certificates, ...WAIT }, { CertificateArn });
  const { Certificate: shown } = await certificates.describeCertificate({ CertificateArn });
  same("ManagedBy", shown.ManagedBy, "CLOUDFRONT");
  same("InUseBy", shown.InUseBy, [Arn]);
  await refused(acm.ResourceInUseException, certificates.deleteCertificate({ CertificateArn }));
});

await step("domains: conflicts and moves", async () => {
  const target = await client.createDistributionTenant(another("target", "target.example.com"));
  const TargetResource = { DistributionTenantId: target.DistributionTenant.Id };
  const asked = { Domain: "*.example.com", DomainControlValidationResource: TargetResource };
  const found = await all(
    cf.paginateListDomainConflicts({ client, pageSize: 1 }, asked),
    (page) => page.DomainConflicts,
  );
  const conflict = (Domain, ResourceType, ResourceId) => ({ Domain, ResourceType, ResourceId, AccountId: ACCOUNT });
  same("DomainConflicts", found, [
    conflict("b.example.com", "distribution-tenant", tenant.Id),
    conflict("c.example.com", "distribution-tenant", tenant.Id),
    conflict("standard.example.com", "distribution", second),
  ]);
  const move = { Domain: "b.example.com", TargetResource, IfMatch: target.ETag };
  await refused(cf.IllegalUpdate, client.updateDomainAssociation(move));
  await disabled(tenant.Id);
  const moved = await client.updateDomainAssociation(move);
  steps.holds(moved, { Domain: "b.example.com", ResourceId: target.DistributionTenant.Id });
  const holder = await client.getDistributionTenantByDomain({ Domain: "b.example.com" });
  steps.holds(holder, { ETag: moved.ETag, DistributionTenant: { Id: target.DistributionTenant.Id } });
});

await step("lists of tenants and connection groups", async () => {
  const asked = { AssociationFilter: { DistributionId: distribution } };
  const tenants = await all(
    cf.paginateListDistributionTenants({ client, pageSize: 1 }, asked),
    (page) => page.DistributionTenantList,
  );
  same("names", tenants.map((each) => each.Name), ["acme", "shop", "target"]);
  for (const { ETag, LastModifiedTime, Status, ...each } of tenants) {
    const found = await client.getDistributionTenant({ Identifier: each.Id });
    same("ETag", ETag, found.ETag);
    steps.holds(found.DistributionTenant, each);
  }
  const groups = await all(
    cf.paginateListConnectionGroups({ client, pageSize: 1 }, {}),
    (page) => page.ConnectionGroups,
  );
  same("groups", groups.map((each) => each.IsDefault), [false, true]);
  steps.holds(groups[0], { Id: group.Id, ETag: groupTag });
  const ofList = await client.listConnectionGroups({ AssociationFilter: { AnycastIpListId: list } });
  same("groups of the list", ofList.ConnectionGroups.map((each) => each.Id), [group.Id]);
});

await step("what is in use is not deleted", async () => {
  const named = { Id: group.Id, IfMatch: groupTag };
  await refused(cf.CannotDeleteEntityWhileInUse, client.deleteConnectionGroup(named));
  await refused(cf.ResourceInUse, client.updateConnectionGroup({ ...named, Enabled: false }));
  const { ETag } = await client.getDistribution({ Id: distribution });
  await refused(cf.ResourceInUse, client.deleteDistribution({ Id: distribution, IfMatch: ETag }));
});

await step("DeleteDistributionTenant", async () => {
  for (const name of ["acme", "shop", "target"]) {
    const named = await disabled(name);
    await client.deleteDistributionTenant(named);
    await refused(cf.EntityNotFound, client.deleteDistributionTenant(named));
  }
});

await step("DeleteDistribution", async () => {
  for (const Id of [distribution, second]) {
    const { DistributionConfig, ETag } = await client.getDistributionConfig({ Id });
    const off = { ...DistributionConfig, Enabled: false };
    const changed = await client.updateDistribution({ Id, IfMatch: ETag, DistributionConfig: off });
    await cf.waitUntilDistributionDeployed({ client, ...WAIT }, { Id });
    const named = { Id, IfMatch: changed.ETag };
    await client.deleteDistribution(named);
    await refused(cf.NoSuchDistribution, client.deleteDistribution(named));
  }
});

await step("DeleteConnectionGroup, DeleteAnycastIpList", async () => {
  const named = { Id: group.Id, IfMatch: groupTag };
  const off = await client.updateConnectionGroup({ ...named, Enabled: false, Ipv6Enabled: true });
  await steps.until("Deployed", async () => {
    return (await client.getConnectionGroup({ Identifier: group.Id })).ConnectionGroup.Status === "Deployed";
  });
  await client.deleteConnectionGroup({ Id: group.Id, IfMatch: off.ETag });
  await refused(cf.EntityNotFound, client.getConnectionGroup({ Identifier: group.Id }));
  const { ETag } = await client.getAnycastIpList({ Id: list });
  await client.deleteAnycastIpList({ Id: list, IfMatch: ETag });
});

await step("what surrounded them", async () => {
  await record("DELETE", `${SHOP}.`, "CNAME", group.RoutingEndpoint);
  await record("DELETE", ...TEXT);
  same("Status", (await dns.deleteHostedZone({ Id: zone })).ChangeInfo.Status, "PENDING");
});

console.log(`${steps.count} steps, ${steps.bad} bad`);
process.exitCode = steps.bad > 0 ? 1 : 0;
