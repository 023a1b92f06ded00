package main

import (
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront/types"
)

const cachingOptimized = "658327ea-f89d-4fab-a63d-7e88639e58f6"

func (l *life) anycastLists() {
	var made *cloudfront.CreateAnycastIpListOutput
	l.step("CreateAnycastIpList", func() {
		made = ok(l.cloudfront.CreateAnycastIpList(ctx, &cloudfront.CreateAnycastIpListInput{
			Name: at("edge"), IpCount: at[int32](3), Tags: tagged("team", "edge"),
		}))
		l.list = *made.AnycastIpList.Id
		l.same("addresses", len(made.AnycastIpList.AnycastIps), 3)
	})
	l.step("GetAnycastIpList, once it is deployed", func() {
		l.until("Deployed", func() bool {
			found := ok(l.cloudfront.GetAnycastIpList(ctx, &cloudfront.GetAnycastIpListInput{Id: &l.list}))
			l.same("ETag", found.ETag, made.ETag)
			l.same("AnycastIps", found.AnycastIpList.AnycastIps, made.AnycastIpList.AnycastIps)
			return *found.AnycastIpList.Status == "Deployed"
		})
	})
	l.step("UpdateAnycastIpList", func() {
		changed := ok(l.cloudfront.UpdateAnycastIpList(ctx, &cloudfront.UpdateAnycastIpListInput{
			Id: &l.list, IfMatch: made.ETag, IpAddressType: types.IpAddressTypeDualStack,
		}))
		l.same("addresses", len(changed.AnycastIpList.AnycastIps), 6)
		refused[*types.PreconditionFailed](l.run)(l.cloudfront.UpdateAnycastIpList(ctx,
			&cloudfront.UpdateAnycastIpListInput{Id: &l.list, IfMatch: made.ETag}))
	})
	l.step("ListAnycastIpLists by pages, DeleteAnycastIpList", func() {
		second := ok(l.cloudfront.CreateAnycastIpList(ctx, &cloudfront.CreateAnycastIpListInput{
			Name: at("second"), IpCount: at[int32](21),
		}))
		var ids []string
		// The SDK has no paginator for this list.
		for asked := (&cloudfront.ListAnycastIpListsInput{MaxItems: at[int32](1)}); len(ids) < 9; {
			page := ok(l.cloudfront.ListAnycastIpLists(ctx, asked)).AnycastIpLists
			l.same("Quantity", page.Quantity, len(page.Items))
			for _, each := range page.Items {
				ids = append(ids, *each.Id)
			}
			if asked.Marker = page.NextMarker; !*page.IsTruncated {
				break
			}
		}
		l.same("lists", ids, []string{l.list, *second.AnycastIpList.Id})
		l.until("Deployed", func() bool {
			found := ok(l.cloudfront.GetAnycastIpList(ctx, &cloudfront.GetAnycastIpListInput{Id: second.AnycastIpList.Id}))
			return *found.AnycastIpList.Status == "Deployed"
		})
		gone := &cloudfront.DeleteAnycastIpListInput{Id: second.AnycastIpList.Id, IfMatch: second.ETag}
		ok(l.cloudfront.DeleteAnycastIpList(ctx, gone))
		refused[*types.EntityNotFound](l.run)(l.cloudfront.DeleteAnycastIpList(ctx, gone))
	})
}

func (l *life) connectionGroups() {
	sent := &cloudfront.CreateConnectionGroupInput{Name: at("edge"), Ipv6Enabled: at(false), Enabled: at(true)}
	l.step("CreateConnectionGroup", func() {
		sent.AnycastIpListId, sent.Tags = &l.list, tagged("team", "edge")
		l.group = ok(l.cloudfront.CreateConnectionGroup(ctx, sent))
		l.holds(l.group.ConnectionGroup, sent)
		l.holds(l.group.ConnectionGroup.Tags.Items, tagged("team", "edge").Items)
		refused[*types.EntityAlreadyExists](l.run)(l.cloudfront.CreateConnectionGroup(ctx, sent))
	})
	l.step("GetConnectionGroup by id, name and ARN, and by routing endpoint", func() {
		made := l.group.ConnectionGroup
		for _, identifier := range []*string{made.Id, made.Name, made.Arn} {
			found := ok(l.cloudfront.GetConnectionGroup(ctx, &cloudfront.GetConnectionGroupInput{Identifier: identifier}))
			l.same("Id", found.ConnectionGroup.Id, made.Id)
			l.same("ETag", found.ETag, l.group.ETag)
			l.same("CreatedTime", found.ConnectionGroup.CreatedTime, made.CreatedTime)
		}
		found := ok(l.cloudfront.GetConnectionGroupByRoutingEndpoint(ctx,
			&cloudfront.GetConnectionGroupByRoutingEndpointInput{RoutingEndpoint: made.RoutingEndpoint}))
		l.same("Name", found.ConnectionGroup.Name, made.Name)
		refused[*types.EntityNotFound](l.run)(
			l.cloudfront.GetConnectionGroup(ctx, &cloudfront.GetConnectionGroupInput{Identifier: at("absent")}))
	})
	l.step("UpdateConnectionGroup", func() {
		change := &cloudfront.UpdateConnectionGroupInput{
			Id: l.group.ConnectionGroup.Id, IfMatch: l.group.ETag, Ipv6Enabled: at(true), Enabled: at(true),
			AnycastIpListId: &l.list,
		}
		changed := ok(l.cloudfront.UpdateConnectionGroup(ctx, change))
		l.same("Ipv6Enabled", changed.ConnectionGroup.Ipv6Enabled, true)
		refused[*types.PreconditionFailed](l.run)(l.cloudfront.UpdateConnectionGroup(ctx, change))
		change.IfMatch = at("no version")
		refused[*types.InvalidIfMatchVersion](l.run)(l.cloudfront.UpdateConnectionGroup(ctx, change))
		l.group.ETag = changed.ETag
	})
	l.step("errors of connection groups", func() {
		refused[*types.InvalidArgument](l.run)(
			l.cloudfront.CreateConnectionGroup(ctx, &cloudfront.CreateConnectionGroupInput{Name: at("no name")}))
		refused[*types.ResourceNotDisabled](l.run)(l.cloudfront.DeleteConnectionGroup(ctx,
			&cloudfront.DeleteConnectionGroupInput{Id: l.group.ConnectionGroup.Id, IfMatch: l.group.ETag}))
		refused[*types.CannotDeleteEntityWhileInUse](l.run)(l.cloudfront.DeleteAnycastIpList(ctx,
			&cloudfront.DeleteAnycastIpListInput{Id: &l.list, IfMatch: at("ETVPDKIKX0DER")}))
	})
}

func (l *life) distributions() {
	config := multiTenant("first", l.certificate)
	l.step("CreateDistribution, GetDistribution", func() {
		made := ok(l.cloudfront.CreateDistribution(ctx, &cloudfront.CreateDistributionInput{DistributionConfig: config}))
		l.distribution = *made.Distribution.Id
		l.holds(made.Distribution.DistributionConfig, config)
		l.same("Location", made.Location, "https://cloudfront.amazonaws.com/2020-05-31/distribution/"+l.distribution)
		waiter := cloudfront.NewDistributionDeployedWaiter(l.cloudfront,
			func(o *cloudfront.DistributionDeployedWaiterOptions) {
				o.MinDelay, o.MaxDelay = pause, pause
			})
		found := ok(waiter.WaitForOutput(ctx, &cloudfront.GetDistributionInput{Id: &l.distribution}, patience))
		l.same("DistributionConfig", found.Distribution.DistributionConfig, made.Distribution.DistributionConfig)
		l.same("ETag", found.ETag, made.ETag)
	})
	l.step("GetDistributionConfig and UpdateDistribution keep what they do not change", func() {
		before := ok(l.cloudfront.GetDistributionConfig(ctx, &cloudfront.GetDistributionConfigInput{Id: &l.distribution}))
		l.same("ParameterDefinitions", before.DistributionConfig.TenantConfig, config.TenantConfig)
		before.DistributionConfig.Comment = at("changed")
		changed := ok(l.cloudfront.UpdateDistribution(ctx, &cloudfront.UpdateDistributionInput{
			Id: &l.distribution, IfMatch: before.ETag, DistributionConfig: before.DistributionConfig,
		}))
		l.same("DistributionConfig", changed.Distribution.DistributionConfig, before.DistributionConfig)
		after := ok(l.cloudfront.GetDistributionConfig(ctx, &cloudfront.GetDistributionConfigInput{Id: &l.distribution}))
		l.same("DistributionConfig", after.DistributionConfig, before.DistributionConfig)
		l.same("ETag", after.ETag, changed.ETag)
		refused[*types.PreconditionFailed](l.run)(l.cloudfront.UpdateDistribution(ctx, &cloudfront.UpdateDistributionInput{
			Id: &l.distribution, IfMatch: before.ETag, DistributionConfig: before.DistributionConfig,
		}))
	})
	l.step("CreateDistributionWithTags, of a standard one", func() {
		second := multiTenant("second", l.certificate)
		second.ConnectionMode, second.TenantConfig = types.ConnectionModeDirect, nil
		second.Origins.Items[0].OriginPath = at("")
		second.Aliases = &types.Aliases{Quantity: at[int32](1), Items: []string{"standard.example.com"}}
		second.AnycastIpListId = &l.list
		second.Restrictions = &types.Restrictions{GeoRestriction: &types.GeoRestriction{
			RestrictionType: types.GeoRestrictionTypeWhitelist, Quantity: at[int32](2), Items: []string{"DE", "FR"},
		}}
		made := ok(l.cloudfront.CreateDistributionWithTags(ctx, &cloudfront.CreateDistributionWithTagsInput{
			DistributionConfigWithTags: &types.DistributionConfigWithTags{
				DistributionConfig: second, Tags: tagged("team", "web"),
			},
		}))
		l.second = *made.Distribution.Id
		l.holds(made.Distribution.DistributionConfig, second)
		found := ok(l.cloudfront.ListTagsForResource(ctx,
			&cloudfront.ListTagsForResourceInput{Resource: made.Distribution.ARN}))
		l.same("Tags", found.Tags.Items, tagged("team", "web").Items)
	})
	l.step("lists of distributions by pages", func() {
		var ids []string
		pages := cloudfront.NewListDistributionsPaginator(l.cloudfront,
			&cloudfront.ListDistributionsInput{MaxItems: at[int32](1)})
		for pages.HasMorePages() {
			for _, each := range ok(pages.NextPage(ctx)).DistributionList.Items {
				ids = append(ids, *each.Id)
			}
		}
		l.same("ListDistributions", ids, []string{l.distribution, l.second})
		var modes []types.ConnectionMode
		of := cloudfront.NewListDistributionsByConnectionModePaginator(l.cloudfront,
			&cloudfront.ListDistributionsByConnectionModeInput{
				ConnectionMode: types.ConnectionModeTenantOnly, MaxItems: at[int32](1),
			})
		for of.HasMorePages() {
			for _, each := range ok(of.NextPage(ctx)).DistributionList.Items {
				modes = append(modes, each.ConnectionMode)
			}
		}
		l.same("ListDistributionsByConnectionMode", modes, []types.ConnectionMode{types.ConnectionModeTenantOnly})
		anycast := ok(l.cloudfront.ListDistributionsByAnycastIpListId(ctx,
			&cloudfront.ListDistributionsByAnycastIpListIdInput{AnycastIpListId: &l.list}))
		l.same("ListDistributionsByAnycastIpListId", anycast.DistributionList.Items[0].Id, l.second)
	})
	l.step("invalidations of a distribution", func() {
		batch := &types.InvalidationBatch{
			CallerReference: at("first"),
			Paths:           &types.Paths{Quantity: at[int32](2), Items: []string{"/a", "/b/*"}},
		}
		made := ok(l.cloudfront.CreateInvalidation(ctx,
			&cloudfront.CreateInvalidationInput{DistributionId: &l.second, InvalidationBatch: batch}))
		l.same("InvalidationBatch", made.Invalidation.InvalidationBatch, batch)
		l.same("Location", made.Location, "https://cloudfront.amazonaws.com/2020-05-31/distribution/"+
			l.second+"/invalidation/"+*made.Invalidation.Id)
		waiter := cloudfront.NewInvalidationCompletedWaiter(l.cloudfront,
			func(o *cloudfront.InvalidationCompletedWaiterOptions) {
				o.MinDelay, o.MaxDelay = pause, pause
			})
		asked := &cloudfront.GetInvalidationInput{DistributionId: &l.second, Id: made.Invalidation.Id}
		found := ok(waiter.WaitForOutput(ctx, asked, patience))
		l.same("InvalidationBatch", found.Invalidation.InvalidationBatch, batch)
		batch.CallerReference = at("second")
		newer := ok(l.cloudfront.CreateInvalidation(ctx,
			&cloudfront.CreateInvalidationInput{DistributionId: &l.second, InvalidationBatch: batch}))
		var ids []string
		pages := cloudfront.NewListInvalidationsPaginator(l.cloudfront,
			&cloudfront.ListInvalidationsInput{DistributionId: &l.second, MaxItems: at[int32](1)})
		for pages.HasMorePages() {
			for _, each := range ok(pages.NextPage(ctx)).InvalidationList.Items {
				ids = append(ids, *each.Id)
			}
		}
		l.same("ListInvalidations", ids, []string{*newer.Invalidation.Id, *made.Invalidation.Id})
		asked.Id = at("I0")
		refused[*types.NoSuchInvalidation](l.run)(l.cloudfront.GetInvalidation(ctx, asked))
	})
	l.step("errors of distributions", func() {
		refused[*types.DistributionAlreadyExists](l.run)(
			l.cloudfront.CreateDistribution(ctx, &cloudfront.CreateDistributionInput{DistributionConfig: config}))
		refused[*types.NoSuchDistribution](l.run)(
			l.cloudfront.GetDistribution(ctx, &cloudfront.GetDistributionInput{Id: at("E0")}))
		refused[*types.DistributionNotDisabled](l.run)(l.cloudfront.DeleteDistribution(ctx,
			&cloudfront.DeleteDistributionInput{Id: &l.second, IfMatch: at("E23ZP02F085DFQ")}))
		wrong := multiTenant("third", l.certificate)
		wrong.Origins.Quantity = at[int32](2)
		refused[*types.InconsistentQuantities](l.run)(
			l.cloudfront.CreateDistribution(ctx, &cloudfront.CreateDistributionInput{DistributionConfig: wrong}))
	})
}

func multiTenant(reference, certificate string) *types.DistributionConfig {
	return &types.DistributionConfig{
		CallerReference: &reference,
		Comment:         at("a <distribution> & its tenants"),
		Enabled:         at(true),
		ConnectionMode:  types.ConnectionModeTenantOnly,
		Origins: &types.Origins{Quantity: at[int32](1), Items: []types.Origin{{
			Id: at("o"), DomainName: at("o.example.com"), OriginPath: at("/{{tenantName}}"),
			CustomOriginConfig: &types.CustomOriginConfig{
				HTTPPort: at[int32](80), HTTPSPort: at[int32](443),
				OriginProtocolPolicy: types.OriginProtocolPolicyHttpsOnly,
			},
		}}},
		DefaultCacheBehavior: &types.DefaultCacheBehavior{
			TargetOriginId: at("o"), CachePolicyId: at(cachingOptimized),
			ViewerProtocolPolicy: types.ViewerProtocolPolicyHttpsOnly,
		},
		TenantConfig: &types.TenantConfig{ParameterDefinitions: []types.ParameterDefinition{
			parameter("tenantName", &types.StringSchemaConfig{Required: at(true), Comment: at("part of the path")}),
			parameter("tier", &types.StringSchemaConfig{Required: at(false), DefaultValue: at("silver")}),
		}},
		ViewerCertificate: &types.ViewerCertificate{
			ACMCertificateArn: &certificate, SSLSupportMethod: types.SSLSupportMethodSniOnly,
			MinimumProtocolVersion: types.MinimumProtocolVersionTLSv122021,
		},
	}
}

func parameter(name string, schema *types.StringSchemaConfig) types.ParameterDefinition {
	return types.ParameterDefinition{
		Name: &name, Definition: &types.ParameterDefinitionSchema{StringSchema: schema},
	}
}

func tagged(key, value string) *types.Tags {
	return &types.Tags{Items: []types.Tag{{Key: &key, Value: &value}}}
}
