package main

import (
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
)

const webACL = "arn:aws:wafv2:us-east-1:" + account + ":global/webacl/edge/0123"

func (l *life) tenants() {
	var sent *cloudfront.CreateDistributionTenantInput
	l.step("CreateDistributionTenant", func() {
		sent = &cloudfront.CreateDistributionTenantInput{
			DistributionId:    &l.distribution,
			Name:              at("acme"),
			ConnectionGroupId: l.group.ConnectionGroup.Id,
			Domains:           domains("a.example.com", "b.example.com"),
			Enabled:           at(true),
			Parameters:        parameters("tenantName", "acme", "tier", "<gold> & more"),
			Customizations: &types.Customizations{
				Certificate:     &types.Certificate{Arn: &l.certificate},
				GeoRestrictions: restricted("AT", "DE"),
				WebAcl:          &types.WebAclCustomization{Action: types.CustomizationActionTypeDisable},
			},
			Tags: tagged("team", "edge"),
		}
		l.tenant = ok(l.cloudfront.CreateDistributionTenant(ctx, sent))
		l.etag = l.tenant.ETag
		l.holds(l.tenant.DistributionTenant, sent)
		for _, each := range l.tenant.DistributionTenant.Domains {
			l.same("Status", each.Status, types.DomainStatusActive)
		}
	})
	l.step("GetDistributionTenant by id, name and ARN, and by domain", func() {
		made := *l.tenant.DistributionTenant
		made.Tags = nil // shown at the create alone
		for _, identifier := range []*string{made.Id, made.Name, made.Arn} {
			found := ok(l.cloudfront.GetDistributionTenant(ctx, &cloudfront.GetDistributionTenantInput{Identifier: identifier}))
			made.Status = found.DistributionTenant.Status
			l.same("DistributionTenant", found.DistributionTenant, made)
			l.same("ETag", found.ETag, l.etag)
		}
		found := ok(l.cloudfront.GetDistributionTenantByDomain(ctx,
			&cloudfront.GetDistributionTenantByDomainInput{Domain: at("b.example.com")}))
		l.same("Id", found.DistributionTenant.Id, made.Id)
		l.deployed(*made.Id)
	})
	l.step("UpdateDistributionTenant replaces what it names", func() {
		change := &cloudfront.UpdateDistributionTenantInput{
			Id: l.tenant.DistributionTenant.Id, IfMatch: l.etag,
			Domains:        domains("b.example.com", "c.example.com"),
			Parameters:     parameters("tenantName", "acme"),
			Customizations: &types.Customizations{GeoRestrictions: restricted("FR")},
		}
		changed := ok(l.cloudfront.UpdateDistributionTenant(ctx, change))
		l.holds(changed.DistributionTenant, struct {
			Domains        []types.DomainItem
			Parameters     []types.Parameter
			Customizations *types.Customizations
		}{change.Domains, change.Parameters, change.Customizations})
		l.same("Customizations", changed.DistributionTenant.Customizations, change.Customizations)
		refused[*types.PreconditionFailed](l.run)(l.cloudfront.UpdateDistributionTenant(ctx, change))
		l.etag = changed.ETag
	})
	l.step("UpdateDistributionTenant with all that was read changes nothing", func() {
		before := ok(l.cloudfront.GetDistributionTenant(ctx,
			&cloudfront.GetDistributionTenantInput{Identifier: at("acme")})).DistributionTenant
		change := &cloudfront.UpdateDistributionTenantInput{
			Id: before.Id, IfMatch: l.etag, ConnectionGroupId: before.ConnectionGroupId,
			Customizations: before.Customizations, DistributionId: before.DistributionId, Enabled: before.Enabled,
			Parameters: before.Parameters,
		}
		for _, each := range before.Domains {
			change.Domains = append(change.Domains, types.DomainItem{Domain: each.Domain})
		}
		changed := ok(l.cloudfront.UpdateDistributionTenant(ctx, change))
		after := changed.DistributionTenant
		after.LastModifiedTime, after.Status = before.LastModifiedTime, before.Status
		l.same("DistributionTenant", after, before)
		l.etag = changed.ETag
	})
	l.step("errors of tenants", func() {
		refused[*types.EntityAlreadyExists](l.run)(l.cloudfront.CreateDistributionTenant(ctx, sent))
		taken := l.another("taken", "c.example.com")
		refused[*types.CNAMEAlreadyExists](l.run)(l.cloudfront.CreateDistributionTenant(ctx, taken))
		refused[*types.InvalidArgument](l.run)(
			l.cloudfront.CreateDistributionTenant(ctx, l.another("uncovered", "a.example.org")))
		taken.DistributionId = &l.second
		refused[*types.InvalidAssociation](l.run)(l.cloudfront.CreateDistributionTenant(ctx, taken))
		taken.DistributionId = at("E0")
		refused[*types.EntityNotFound](l.run)(l.cloudfront.CreateDistributionTenant(ctx, taken))
		refused[*types.EntityNotFound](l.run)(
			l.cloudfront.GetDistributionTenant(ctx, &cloudfront.GetDistributionTenantInput{Identifier: at("absent")}))
		gone := &cloudfront.DeleteDistributionTenantInput{Id: l.tenant.DistributionTenant.Id, IfMatch: l.etag}
		refused[*types.ResourceNotDisabled](l.run)(l.cloudfront.DeleteDistributionTenant(ctx, gone))
		gone.IfMatch = at("no version")
		refused[*types.InvalidIfMatchVersion](l.run)(l.cloudfront.DeleteDistributionTenant(ctx, gone))
		stranger := "arn:aws:cloudfront::210987654321:distribution-tenant/dt_0123456789012345678901234567"
		refused[*types.AccessDenied](l.run)(
			l.cloudfront.GetDistributionTenant(ctx, &cloudfront.GetDistributionTenantInput{Identifier: &stranger}))
	})
}

func (l *life) webACLs() {
	l.step("AssociateDistributionTenantWebACL, DisassociateDistributionTenantWebACL", func() {
		id := l.tenant.DistributionTenant.Id
		there := ok(l.cloudfront.AssociateDistributionTenantWebACL(ctx, &cloudfront.AssociateDistributionTenantWebACLInput{
			Id: id, WebACLArn: at(webACL), IfMatch: l.etag,
		}))
		l.same("WebACLArn", there.WebACLArn, webACL)
		found := ok(l.cloudfront.GetDistributionTenant(ctx, &cloudfront.GetDistributionTenantInput{Identifier: id}))
		l.same("WebAcl", found.DistributionTenant.Customizations.WebAcl,
			types.WebAclCustomization{Action: types.CustomizationActionTypeOverride, Arn: at(webACL)})
		var listed []string
		pages := cloudfront.NewListDistributionTenantsByCustomizationPaginator(l.cloudfront,
			&cloudfront.ListDistributionTenantsByCustomizationInput{WebACLArn: at(webACL), MaxItems: at[int32](1)})
		for pages.HasMorePages() {
			for _, each := range ok(pages.NextPage(ctx)).DistributionTenantList {
				l.same("WebAcl", each.Customizations.WebAcl.Arn, webACL)
				listed = append(listed, *each.Id)
			}
		}
		l.same("ListDistributionTenantsByCustomization", listed, []string{*id})
		back := ok(l.cloudfront.DisassociateDistributionTenantWebACL(ctx,
			&cloudfront.DisassociateDistributionTenantWebACLInput{Id: id, IfMatch: there.ETag}))
		l.etag = back.ETag
		refused[*types.PreconditionFailed](l.run)(l.cloudfront.DisassociateDistributionTenantWebACL(ctx,
			&cloudfront.DisassociateDistributionTenantWebACLInput{Id: id, IfMatch: there.ETag}))
	})
}

func (l *life) tags() {
	l.step("TagResource, UntagResource, ListTagsForResource", func() {
		arn := l.tenant.DistributionTenant.Arn
		ok(l.cloudfront.TagResource(ctx, &cloudfront.TagResourceInput{Resource: arn, Tags: tagged("tier", "gold")}))
		ok(l.cloudfront.UntagResource(ctx, &cloudfront.UntagResourceInput{
			Resource: arn, TagKeys: &types.TagKeys{Items: []string{"team", "absent"}},
		}))
		found := ok(l.cloudfront.ListTagsForResource(ctx, &cloudfront.ListTagsForResourceInput{Resource: arn}))
		l.same("Tags", found.Tags, tagged("tier", "gold"))
		refused[*types.InvalidTagging](l.run)(
			l.cloudfront.TagResource(ctx, &cloudfront.TagResourceInput{Resource: arn, Tags: tagged("aws:x", "y")}))
		refused[*types.NoSuchResource](l.run)(
			l.cloudfront.ListTagsForResource(ctx, &cloudfront.ListTagsForResourceInput{Resource: at(*arn + "0")}))
	})
}

func (l *life) invalidations() {
	l.step("invalidations of a tenant", func() {
		id := l.tenant.DistributionTenant.Id
		batch := &types.InvalidationBatch{
			CallerReference: at("first"),
			Paths:           &types.Paths{Quantity: at[int32](2), Items: []string{"/a", "/b/*"}},
		}
		made := ok(l.cloudfront.CreateInvalidationForDistributionTenant(ctx,
			&cloudfront.CreateInvalidationForDistributionTenantInput{Id: id, InvalidationBatch: batch}))
		l.same("InvalidationBatch", made.Invalidation.InvalidationBatch, batch)
		l.same("Location", made.Location, "https://cloudfront.amazonaws.com/2020-05-31/distribution-tenant/"+
			*id+"/invalidation/"+*made.Invalidation.Id)
		waiter := cloudfront.NewInvalidationForDistributionTenantCompletedWaiter(l.cloudfront,
			func(o *cloudfront.InvalidationForDistributionTenantCompletedWaiterOptions) {
				o.MinDelay, o.MaxDelay = pause, pause
			})
		asked := &cloudfront.GetInvalidationForDistributionTenantInput{DistributionTenantId: id, Id: made.Invalidation.Id}
		found := ok(waiter.WaitForOutput(ctx, asked, patience))
		l.same("InvalidationBatch", found.Invalidation.InvalidationBatch, batch)
		batch.CallerReference = at("second")
		newer := ok(l.cloudfront.CreateInvalidationForDistributionTenant(ctx,
			&cloudfront.CreateInvalidationForDistributionTenantInput{Id: id, InvalidationBatch: batch}))
		var ids []string
		pages := cloudfront.NewListInvalidationsForDistributionTenantPaginator(l.cloudfront,
			&cloudfront.ListInvalidationsForDistributionTenantInput{Id: id, MaxItems: at[int32](1)})
		for pages.HasMorePages() {
			for _, each := range ok(pages.NextPage(ctx)).InvalidationList.Items {
				ids = append(ids, *each.Id)
			}
		}
		l.same("ListInvalidationsForDistributionTenant", ids, []string{*newer.Invalidation.Id, *made.Invalidation.Id})
		asked.Id = at("I0")
		refused[*types.NoSuchInvalidation](l.run)(l.cloudfront.GetInvalidationForDistributionTenant(ctx, asked))
	})
}

func (l *life) managedCertificate() {
	const domain = "shop.example.net"
	var made *cloudfront.CreateDistributionTenantOutput
	l.step("a managed certificate is asked for", func() {
		sent := l.another("shop", domain)
		sent.ManagedCertificateRequest = &types.ManagedCertificateRequest{
			ValidationTokenHost: types.ValidationTokenHostSelfHosted, PrimaryDomainName: at(domain),
			CertificateTransparencyLoggingPreference: types.CertificateTransparencyLoggingPreferenceEnabled,
		}
		refused[*types.EntityNotFound](l.run)(l.cloudfront.GetManagedCertificateDetails(ctx,
			&cloudfront.GetManagedCertificateDetailsInput{Identifier: at("acme")}))
		made = ok(l.cloudfront.CreateDistributionTenant(ctx, sent))
		l.managedTenant = *made.DistributionTenant.Id
		l.same("Domains", made.DistributionTenant.Domains,
			[]types.DomainResult{{Domain: at(domain), Status: types.DomainStatusInactive}})
		details := l.details()
		l.same("ValidationTokenHost", details.ValidationTokenHost, types.ValidationTokenHostSelfHosted)
		l.same("tokens", len(details.ValidationTokenDetails), 1)
		token := details.ValidationTokenDetails[0]
		l.same("Domain", token.Domain, domain)
		if token.RedirectFrom == nil || token.RedirectTo == nil {
			l.fail("the token has no redirect: %s", text(token))
		}
	})
	l.step("VerifyDnsConfiguration sees what Route 53 was told", func() {
		l.same("before", l.verdict(domain).Status, types.DnsConfigurationStatusInvalid)
		if l.verdict(domain).Reason == nil {
			l.fail("no reason")
		}
		l.record(r53types.ChangeActionUpsert, domain+".", r53types.RRTypeCname, *l.group.ConnectionGroup.RoutingEndpoint)
		l.same("after", l.verdict(domain).Status, types.DnsConfigurationStatusValid)
	})
	l.step("it is issued and attached", func() {
		l.until("issued", func() bool {
			return l.details().CertificateStatus == types.ManagedCertificateStatusIssued
		})
		issued := l.details()
		found := ok(l.cloudfront.GetDistributionTenant(ctx,
			&cloudfront.GetDistributionTenantInput{Identifier: &l.managedTenant}))
		changed := ok(l.cloudfront.UpdateDistributionTenant(ctx, &cloudfront.UpdateDistributionTenantInput{
			Id: &l.managedTenant, IfMatch: found.ETag,
			Customizations: &types.Customizations{Certificate: &types.Certificate{Arn: issued.CertificateArn}},
		}))
		l.same("Domains", changed.DistributionTenant.Domains,
			[]types.DomainResult{{Domain: at(domain), Status: types.DomainStatusActive}})
		waiter := acm.NewCertificateValidatedWaiter(l.acm, func(o *acm.CertificateValidatedWaiterOptions) {
			o.MinDelay, o.MaxDelay = pause, pause
		})
		shown := ok(waiter.WaitForOutput(ctx, &acm.DescribeCertificateInput{CertificateArn: issued.CertificateArn}, patience))
		l.same("ManagedBy", shown.Certificate.ManagedBy, acmtypes.CertificateManagedByCloudfront)
		l.same("InUseBy", shown.Certificate.InUseBy, []string{*made.DistributionTenant.Arn})
		refused[*acmtypes.ResourceInUseException](l.run)(
			l.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: issued.CertificateArn}))
	})
}

func (l *life) details() *types.ManagedCertificateDetails {
	return ok(l.cloudfront.GetManagedCertificateDetails(ctx,
		&cloudfront.GetManagedCertificateDetailsInput{Identifier: &l.managedTenant})).ManagedCertificateDetails
}

func (l *life) verdict(domain string) types.DnsConfiguration {
	found := ok(l.cloudfront.VerifyDnsConfiguration(ctx,
		&cloudfront.VerifyDnsConfigurationInput{Identifier: &l.managedTenant, Domain: &domain}))
	l.same("rows", len(found.DnsConfigurationList), 1)
	l.same("Domain", found.DnsConfigurationList[0].Domain, domain)
	return found.DnsConfigurationList[0]
}

func (l *life) domains() {
	var target *cloudfront.CreateDistributionTenantOutput
	l.step("ListDomainConflicts by pages", func() {
		target = ok(l.cloudfront.CreateDistributionTenant(ctx, l.another("target", "target.example.com")))
		var found []types.DomainConflict
		pages := cloudfront.NewListDomainConflictsPaginator(l.cloudfront, &cloudfront.ListDomainConflictsInput{
			Domain: at("*.example.com"), MaxItems: at[int32](1),
			DomainControlValidationResource: &types.DistributionResourceId{DistributionTenantId: target.DistributionTenant.Id},
		})
		for pages.HasMorePages() {
			found = append(found, ok(pages.NextPage(ctx)).DomainConflicts...)
		}
		tenant := l.tenant.DistributionTenant.Id
		l.same("DomainConflicts", found, []types.DomainConflict{
			conflict("b.example.com", types.DistributionResourceTypeDistributionTenant, tenant),
			conflict("c.example.com", types.DistributionResourceTypeDistributionTenant, tenant),
			conflict("standard.example.com", types.DistributionResourceTypeDistribution, &l.second),
		})
	})
	l.step("UpdateDomainAssociation", func() {
		move := &cloudfront.UpdateDomainAssociationInput{
			Domain:         at("b.example.com"),
			TargetResource: &types.DistributionResourceId{DistributionTenantId: target.DistributionTenant.Id},
			IfMatch:        target.ETag,
		}
		refused[*types.IllegalUpdate](l.run)(l.cloudfront.UpdateDomainAssociation(ctx, move))
		l.disable(*l.tenant.DistributionTenant.Id)
		moved := ok(l.cloudfront.UpdateDomainAssociation(ctx, move))
		l.same("Domain", moved.Domain, "b.example.com")
		l.same("ResourceId", moved.ResourceId, target.DistributionTenant.Id)
		found := ok(l.cloudfront.GetDistributionTenantByDomain(ctx,
			&cloudfront.GetDistributionTenantByDomainInput{Domain: at("b.example.com")}))
		l.same("Id", found.DistributionTenant.Id, target.DistributionTenant.Id)
		l.same("ETag", found.ETag, moved.ETag)
	})
}

func (l *life) lists() {
	l.step("ListDistributionTenants by pages", func() {
		var names []string
		pages := cloudfront.NewListDistributionTenantsPaginator(l.cloudfront, &cloudfront.ListDistributionTenantsInput{
			MaxItems:          at[int32](1),
			AssociationFilter: &types.DistributionTenantAssociationFilter{DistributionId: &l.distribution},
		})
		for pages.HasMorePages() {
			for _, each := range ok(pages.NextPage(ctx)).DistributionTenantList {
				names = append(names, *each.Name)
				found := ok(l.cloudfront.GetDistributionTenant(ctx,
					&cloudfront.GetDistributionTenantInput{Identifier: each.Id}))
				l.same("ETag", each.ETag, found.ETag)
				l.same("Domains", each.Domains, found.DistributionTenant.Domains)
				l.same("Customizations", each.Customizations, found.DistributionTenant.Customizations)
			}
		}
		l.same("names", names, []string{"acme", "shop", "target"})
	})
	l.step("ListConnectionGroups by pages", func() {
		var found []types.ConnectionGroupSummary
		pages := cloudfront.NewListConnectionGroupsPaginator(l.cloudfront,
			&cloudfront.ListConnectionGroupsInput{MaxItems: at[int32](1)})
		for pages.HasMorePages() {
			found = append(found, ok(pages.NextPage(ctx)).ConnectionGroups...)
		}
		l.same("groups", len(found), 2)
		l.same("Id", found[0].Id, l.group.ConnectionGroup.Id)
		l.same("ETag", found[0].ETag, l.group.ETag)
		l.same("IsDefault", found[1].IsDefault, true)
		one := ok(l.cloudfront.ListConnectionGroups(ctx, &cloudfront.ListConnectionGroupsInput{
			AssociationFilter: &types.ConnectionGroupAssociationFilter{AnycastIpListId: &l.list},
		}))
		l.same("groups of the list", len(one.ConnectionGroups), 1)
	})
}

// ends: everything is disabled, and deleted in the order that AWS demands.
func (l *life) ends() {
	var group *types.ConnectionGroup
	l.step("what is in use is not deleted", func() {
		group = l.group.ConnectionGroup
		refused[*types.CannotDeleteEntityWhileInUse](l.run)(l.cloudfront.DeleteConnectionGroup(ctx,
			&cloudfront.DeleteConnectionGroupInput{Id: group.Id, IfMatch: l.group.ETag}))
		refused[*types.ResourceInUse](l.run)(l.cloudfront.UpdateConnectionGroup(ctx,
			&cloudfront.UpdateConnectionGroupInput{Id: group.Id, IfMatch: l.group.ETag, Enabled: at(false)}))
		found := ok(l.cloudfront.GetDistribution(ctx, &cloudfront.GetDistributionInput{Id: &l.distribution}))
		refused[*types.ResourceInUse](l.run)(l.cloudfront.DeleteDistribution(ctx,
			&cloudfront.DeleteDistributionInput{Id: &l.distribution, IfMatch: found.ETag}))
		refused[*acmtypes.ResourceInUseException](l.run)(
			l.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: &l.certificate}))
	})
	l.step("DeleteDistributionTenant", func() {
		for _, name := range []string{"acme", "shop", "target"} {
			etag := l.disable(name)
			found := ok(l.cloudfront.GetDistributionTenant(ctx, &cloudfront.GetDistributionTenantInput{Identifier: &name}))
			gone := &cloudfront.DeleteDistributionTenantInput{Id: found.DistributionTenant.Id, IfMatch: etag}
			ok(l.cloudfront.DeleteDistributionTenant(ctx, gone))
			refused[*types.EntityNotFound](l.run)(l.cloudfront.DeleteDistributionTenant(ctx, gone))
		}
	})
	l.step("DeleteDistribution", func() {
		for _, id := range []string{l.distribution, l.second} {
			before := ok(l.cloudfront.GetDistributionConfig(ctx, &cloudfront.GetDistributionConfigInput{Id: &id}))
			before.DistributionConfig.Enabled = at(false)
			changed := ok(l.cloudfront.UpdateDistribution(ctx, &cloudfront.UpdateDistributionInput{
				Id: &id, IfMatch: before.ETag, DistributionConfig: before.DistributionConfig,
			}))
			waiter := cloudfront.NewDistributionDeployedWaiter(l.cloudfront,
				func(o *cloudfront.DistributionDeployedWaiterOptions) {
					o.MinDelay, o.MaxDelay = pause, pause
				})
			if err := waiter.Wait(ctx, &cloudfront.GetDistributionInput{Id: &id}, patience); err != nil {
				panic(err)
			}
			gone := &cloudfront.DeleteDistributionInput{Id: &id, IfMatch: changed.ETag}
			ok(l.cloudfront.DeleteDistribution(ctx, gone))
			refused[*types.NoSuchDistribution](l.run)(l.cloudfront.DeleteDistribution(ctx, gone))
		}
	})
	l.step("DeleteConnectionGroup, DeleteAnycastIpList", func() {
		changed := ok(l.cloudfront.UpdateConnectionGroup(ctx, &cloudfront.UpdateConnectionGroupInput{
			Id: group.Id, IfMatch: l.group.ETag, Enabled: at(false), Ipv6Enabled: at(true),
		}))
		l.until("Deployed", func() bool {
			found := ok(l.cloudfront.GetConnectionGroup(ctx, &cloudfront.GetConnectionGroupInput{Identifier: group.Id}))
			return *found.ConnectionGroup.Status == "Deployed"
		})
		ok(l.cloudfront.DeleteConnectionGroup(ctx,
			&cloudfront.DeleteConnectionGroupInput{Id: group.Id, IfMatch: changed.ETag}))
		refused[*types.EntityNotFound](l.run)(
			l.cloudfront.GetConnectionGroup(ctx, &cloudfront.GetConnectionGroupInput{Identifier: group.Id}))
		found := ok(l.cloudfront.GetAnycastIpList(ctx, &cloudfront.GetAnycastIpListInput{Id: &l.list}))
		ok(l.cloudfront.DeleteAnycastIpList(ctx, &cloudfront.DeleteAnycastIpListInput{Id: &l.list, IfMatch: found.ETag}))
	})
	l.step("what surrounded them", func() {
		ok(l.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: &l.certificate}))
		l.record(r53types.ChangeActionDelete, "shop.example.net.", r53types.RRTypeCname, *group.RoutingEndpoint)
		l.record(r53types.ChangeActionDelete, "text.example.net.", r53types.RRTypeTxt, `"one"`, `"two <&>"`)
		gone := ok(l.route53.DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: &l.zone}))
		l.same("Status", gone.ChangeInfo.Status, r53types.ChangeStatusPending)
	})
}

// another is a tenant of the first distribution, in the group.
func (l *life) another(name, domain string) *cloudfront.CreateDistributionTenantInput {
	return &cloudfront.CreateDistributionTenantInput{
		DistributionId: &l.distribution, Name: &name, ConnectionGroupId: l.group.ConnectionGroup.Id,
		Domains: domains(domain), Parameters: parameters("tenantName", name),
	}
}

// disable leaves a tenant deployed and disabled; its ETag.
func (l *life) disable(identifier string) *string {
	found := ok(l.cloudfront.GetDistributionTenant(ctx, &cloudfront.GetDistributionTenantInput{Identifier: &identifier}))
	changed := ok(l.cloudfront.UpdateDistributionTenant(ctx, &cloudfront.UpdateDistributionTenantInput{
		Id: found.DistributionTenant.Id, IfMatch: found.ETag, Enabled: at(false),
	}))
	l.same("Enabled", changed.DistributionTenant.Enabled, false)
	l.deployed(identifier)
	return changed.ETag
}

func (l *life) deployed(identifier string) {
	l.until("Deployed", func() bool {
		found := ok(l.cloudfront.GetDistributionTenant(ctx, &cloudfront.GetDistributionTenantInput{Identifier: &identifier}))
		return *found.DistributionTenant.Status == "Deployed"
	})
}

func conflict(domain string, kind types.DistributionResourceType, id *string) types.DomainConflict {
	return types.DomainConflict{AccountId: at(account), Domain: &domain, ResourceId: id, ResourceType: kind}
}

func domains(names ...string) []types.DomainItem {
	var items []types.DomainItem
	for _, name := range names {
		items = append(items, types.DomainItem{Domain: &name})
	}
	return items
}

func parameters(pairs ...string) []types.Parameter {
	var found []types.Parameter
	for i := 0; i < len(pairs); i += 2 {
		found = append(found, types.Parameter{Name: &pairs[i], Value: &pairs[i+1]})
	}
	return found
}

func restricted(countries ...string) *types.GeoRestrictionCustomization {
	return &types.GeoRestrictionCustomization{
		RestrictionType: types.GeoRestrictionTypeWhitelist, Locations: countries,
	}
}
