package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"

	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront/types"
)

// rest: operations of CloudFront that the emulator leaves to moto.
func (l *life) rest() {
	l.step("origin access controls", func() {
		config := &types.OriginAccessControlConfig{
			Name:                          at("oac"),
			Description:                   at("a <control>"),
			OriginAccessControlOriginType: types.OriginAccessControlOriginTypesS3,
			SigningBehavior:               types.OriginAccessControlSigningBehaviorsAlways,
			SigningProtocol:               types.OriginAccessControlSigningProtocolsSigv4,
		}
		made := ok(l.cloudfront.CreateOriginAccessControl(ctx,
			&cloudfront.CreateOriginAccessControlInput{OriginAccessControlConfig: config}))
		l.same("config", made.OriginAccessControl.OriginAccessControlConfig, config)
		found := ok(l.cloudfront.GetOriginAccessControl(ctx,
			&cloudfront.GetOriginAccessControlInput{Id: made.OriginAccessControl.Id}))
		l.same("config", found.OriginAccessControl.OriginAccessControlConfig, config)
		var ids []string
		pages := cloudfront.NewListOriginAccessControlsPaginator(l.cloudfront,
			&cloudfront.ListOriginAccessControlsInput{MaxItems: at[int32](1)})
		for pages.HasMorePages() {
			for _, each := range ok(pages.NextPage(ctx)).OriginAccessControlList.Items {
				ids = append(ids, *each.Id)
			}
		}
		l.same("ids", ids, []string{*made.OriginAccessControl.Id})
		config.SigningBehavior = types.OriginAccessControlSigningBehaviorsNever
		changed := ok(l.cloudfront.UpdateOriginAccessControl(ctx, &cloudfront.UpdateOriginAccessControlInput{
			Id: made.OriginAccessControl.Id, IfMatch: found.ETag, OriginAccessControlConfig: config,
		}))
		l.same("config", changed.OriginAccessControl.OriginAccessControlConfig, config)
		ok(l.cloudfront.DeleteOriginAccessControl(ctx,
			&cloudfront.DeleteOriginAccessControlInput{Id: made.OriginAccessControl.Id, IfMatch: changed.ETag}))
		refused[*types.NoSuchOriginAccessControl](l.run)(l.cloudfront.GetOriginAccessControl(ctx,
			&cloudfront.GetOriginAccessControlInput{Id: made.OriginAccessControl.Id}))
	})
	l.step("public keys and key groups", func() {
		private := ok(rsa.GenerateKey(rand.Reader, 2048))
		body := ok(x509.MarshalPKIXPublicKey(&private.PublicKey))
		config := &types.PublicKeyConfig{
			CallerReference: at("one"), Name: at("key"),
			EncodedKey: at(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: body}))),
		}
		key := ok(l.cloudfront.CreatePublicKey(ctx, &cloudfront.CreatePublicKeyInput{PublicKeyConfig: config}))
		l.holds(key.PublicKey.PublicKeyConfig, config)
		found := ok(l.cloudfront.GetPublicKey(ctx, &cloudfront.GetPublicKeyInput{Id: key.PublicKey.Id}))
		l.holds(found.PublicKey.PublicKeyConfig, config)
		l.same("keys", len(ok(l.cloudfront.ListPublicKeys(ctx, nil)).PublicKeyList.Items), 1)
		groupConfig := &types.KeyGroupConfig{Name: at("group"), Items: []string{*key.PublicKey.Id}}
		group := ok(l.cloudfront.CreateKeyGroup(ctx, &cloudfront.CreateKeyGroupInput{KeyGroupConfig: groupConfig}))
		l.holds(group.KeyGroup.KeyGroupConfig, groupConfig)
		shown := ok(l.cloudfront.GetKeyGroup(ctx, &cloudfront.GetKeyGroupInput{Id: group.KeyGroup.Id}))
		l.holds(shown.KeyGroup.KeyGroupConfig, groupConfig)
		l.same("groups", len(ok(l.cloudfront.ListKeyGroups(ctx, nil)).KeyGroupList.Items), 1)
		ok(l.cloudfront.DeletePublicKey(ctx, &cloudfront.DeletePublicKeyInput{Id: key.PublicKey.Id, IfMatch: key.ETag}))
	})
	l.step("functions", func() {
		const source = "function handler(event) { return event.request }"
		made := ok(l.cloudfront.CreateFunction(ctx, &cloudfront.CreateFunctionInput{
			Name: at("f"), FunctionCode: []byte(source),
			FunctionConfig: &types.FunctionConfig{Comment: at("c"), Runtime: types.FunctionRuntimeCloudfrontJs20},
		}))
		found := ok(l.cloudfront.DescribeFunction(ctx, &cloudfront.DescribeFunctionInput{Name: at("f")}))
		l.same("Name", found.FunctionSummary.Name, "f")
		code := ok(l.cloudfront.GetFunction(ctx, &cloudfront.GetFunctionInput{Name: at("f")}))
		l.same("code", string(code.FunctionCode), source)
		l.same("functions", len(ok(l.cloudfront.ListFunctions(ctx, nil)).FunctionList.Items), 1)
		ok(l.cloudfront.DeleteFunction(ctx, &cloudfront.DeleteFunctionInput{Name: at("f"), IfMatch: made.ETag}))
	})
	l.step("key value stores", func() {
		name := at("kv")
		made := ok(l.cloudfront.CreateKeyValueStore(ctx,
			&cloudfront.CreateKeyValueStoreInput{Name: name, Comment: at("c")}))
		found := ok(l.cloudfront.DescribeKeyValueStore(ctx, &cloudfront.DescribeKeyValueStoreInput{Name: name}))
		l.same("Id", found.KeyValueStore.Id, made.KeyValueStore.Id)
		l.same("stores", len(ok(l.cloudfront.ListKeyValueStores(ctx, nil)).KeyValueStoreList.Items), 1)
		changed := ok(l.cloudfront.UpdateKeyValueStore(ctx,
			&cloudfront.UpdateKeyValueStoreInput{Name: name, Comment: at("d"), IfMatch: found.ETag}))
		l.same("Comment", changed.KeyValueStore.Comment, "d")
		ok(l.cloudfront.DeleteKeyValueStore(ctx,
			&cloudfront.DeleteKeyValueStoreInput{Name: name, IfMatch: changed.ETag}))
	})
}
