package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
)

// identities: STS, whose answers are of the query protocol.
func (l *life) identities() {
	l.step("GetCallerIdentity", func() {
		l.same("Account", ok(l.sts.GetCallerIdentity(ctx, nil)).Account, account)
	})
	l.step("AssumeRole", func() {
		assumed := ok(l.sts.AssumeRole(ctx, &sts.AssumeRoleInput{
			RoleArn: at("arn:aws:iam::210987654321:role/edge"), RoleSessionName: at("go"),
		}))
		given := assumed.Credentials
		provider := credentials.NewStaticCredentialsProvider(
			*given.AccessKeyId, *given.SecretAccessKey, *given.SessionToken)
		theirs := sts.NewFromConfig(l.config, func(o *sts.Options) { o.Credentials = provider })
		l.same("Account", ok(theirs.GetCallerIdentity(ctx, nil)).Account, "210987654321")
		if given.Expiration == nil || time.Until(*given.Expiration) <= 0 {
			l.fail("Expiration is %v", given.Expiration)
		}
	})
	l.step("AssumeRoleWithWebIdentity of a token that is none", func() {
		refused[*ststypes.InvalidIdentityTokenException](l.run)(l.sts.AssumeRoleWithWebIdentity(ctx,
			&sts.AssumeRoleWithWebIdentityInput{
				RoleArn: at("arn:aws:iam::210987654321:role/edge"), RoleSessionName: at("go"), WebIdentityToken: at("none"),
			}))
	})
}

// certificates: ACM, which speaks JSON.
func (l *life) certificates() {
	l.step("ImportCertificate", func() {
		body, key := selfSigned("example.com", "*.example.com")
		l.certificate = *ok(l.acm.ImportCertificate(ctx, &acm.ImportCertificateInput{
			Certificate: body, PrivateKey: key,
		})).CertificateArn
	})
	l.step("DescribeCertificate", func() {
		found := ok(l.acm.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: &l.certificate}))
		l.same("Status", found.Certificate.Status, acmtypes.CertificateStatusIssued)
		l.same("SubjectAlternativeNames", found.Certificate.SubjectAlternativeNames,
			[]string{"example.com", "*.example.com"})
		if found.Certificate.NotAfter == nil || !found.Certificate.NotAfter.After(time.Now()) {
			l.fail("NotAfter is %v", found.Certificate.NotAfter)
		}
	})
	l.step("RequestCertificate, ListCertificates by pages, DeleteCertificate", func() {
		asked := ok(l.acm.RequestCertificate(ctx, &acm.RequestCertificateInput{
			DomainName: at("asked.example.org"), ValidationMethod: acmtypes.ValidationMethodDns,
		})).CertificateArn
		found := map[string]bool{}
		pages := acm.NewListCertificatesPaginator(l.acm, &acm.ListCertificatesInput{MaxItems: at[int32](1)})
		for pages.HasMorePages() {
			for _, each := range ok(pages.NextPage(ctx)).CertificateSummaryList {
				found[*each.CertificateArn] = true
			}
		}
		if !found[*asked] || !found[l.certificate] {
			l.fail("ListCertificates has %v", found)
		}
		ok(l.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: asked}))
		refused[*acmtypes.ResourceNotFoundException](l.run)(
			l.acm.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: asked}))
	})
	l.step("tags of a certificate", func() {
		tags := []acmtypes.Tag{{Key: at("team"), Value: at("edge")}}
		ok(l.acm.AddTagsToCertificate(ctx, &acm.AddTagsToCertificateInput{CertificateArn: &l.certificate, Tags: tags}))
		found := ok(l.acm.ListTagsForCertificate(ctx, &acm.ListTagsForCertificateInput{CertificateArn: &l.certificate}))
		l.same("Tags", found.Tags, tags)
	})
}

// zones: Route 53, whose XML is CloudFront's protocol too.
func (l *life) zones() {
	l.step("CreateHostedZone, GetHostedZone, ListHostedZones by pages", func() {
		for _, name := range []string{"example.net.", "example.edu."} {
			made := ok(l.route53.CreateHostedZone(ctx, &route53.CreateHostedZoneInput{
				Name: &name, CallerReference: at("go " + name),
			}))
			l.zone = *made.HostedZone.Id
			l.same("Name", made.HostedZone.Name, name)
		}
		found := ok(l.route53.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &l.zone}))
		l.same("Name", found.HostedZone.Name, "example.edu.")
		var names []string
		pages := route53.NewListHostedZonesPaginator(l.route53, &route53.ListHostedZonesInput{MaxItems: at[int32](1)})
		for pages.HasMorePages() {
			for _, each := range ok(pages.NextPage(ctx)).HostedZones {
				names = append(names, *each.Name)
				if *each.Name == "example.net." {
					l.zone = *each.Id
				}
			}
		}
		l.same("names", len(names), 2)
	})
	l.step("ChangeResourceRecordSets, GetChange", func() {
		l.record(r53types.ChangeActionCreate, "text.example.net.", r53types.RRTypeTxt, `"one"`, `"two <&>"`)
		listed := ok(l.route53.ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{
			HostedZoneId: &l.zone, StartRecordName: at("text.example.net."), StartRecordType: r53types.RRTypeTxt,
		}))
		l.holds(listed.ResourceRecordSets[0], recordSet("text.example.net.", r53types.RRTypeTxt, `"one"`, `"two <&>"`))
	})
	l.step("what controllers ask Route 53 for", func() {
		byName := ok(l.route53.ListHostedZonesByName(ctx, &route53.ListHostedZonesByNameInput{DNSName: at("example.net.")}))
		l.same("Id", byName.HostedZones[0].Id, l.zone)
		tags := []r53types.Tag{{Key: at("team"), Value: at("edge")}}
		id := at(strings.TrimPrefix(l.zone, "/hostedzone/"))
		ok(l.route53.ChangeTagsForResource(ctx, &route53.ChangeTagsForResourceInput{
			ResourceType: r53types.TagResourceTypeHostedzone, ResourceId: id, AddTags: tags,
		}))
		one := ok(l.route53.ListTagsForResource(ctx, &route53.ListTagsForResourceInput{
			ResourceType: r53types.TagResourceTypeHostedzone, ResourceId: id,
		}))
		l.same("Tags", one.ResourceTagSet.Tags, tags)
		some := ok(l.route53.ListTagsForResources(ctx, &route53.ListTagsForResourcesInput{
			ResourceType: r53types.TagResourceTypeHostedzone, ResourceIds: []string{*id},
		}))
		l.same("Tags", some.ResourceTagSets[0].Tags, tags)
		var kinds []r53types.RRType
		pages := route53.NewListResourceRecordSetsPaginator(l.route53, &route53.ListResourceRecordSetsInput{
			HostedZoneId: &l.zone, MaxItems: at[int32](1),
		})
		for pages.HasMorePages() {
			for _, each := range ok(pages.NextPage(ctx)).ResourceRecordSets {
				kinds = append(kinds, each.Type)
			}
		}
		l.same("kinds", kinds, []r53types.RRType{r53types.RRTypeNs, r53types.RRTypeSoa, r53types.RRTypeTxt})
	})
	l.step("errors of Route 53", func() {
		_, err := l.change(r53types.ChangeActionDelete, "absent.example.net.", r53types.RRTypeA, "192.0.2.1")
		refused[*r53types.InvalidChangeBatch](l.run)(nil, err)
		refused[*r53types.NoSuchHostedZone](l.run)(
			l.route53.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: at("Z0123456789ABCDEFGHIJ")}))
		refused[*r53types.HostedZoneNotEmpty](l.run)(
			l.route53.DeleteHostedZone(ctx, &route53.DeleteHostedZoneInput{Id: &l.zone}))
		refused[*r53types.NoSuchChange](l.run)(l.route53.GetChange(ctx, &route53.GetChangeInput{Id: at("C0123456789")}))
	})
}

// record changes a record of example.net and waits until the DNS has it.
func (l *life) record(action r53types.ChangeAction, name string, kind r53types.RRType, values ...string) {
	changed := ok(l.change(action, name, kind, values...))
	waiter := route53.NewResourceRecordSetsChangedWaiter(l.route53,
		func(o *route53.ResourceRecordSetsChangedWaiterOptions) {
			o.MinDelay, o.MaxDelay = pause, pause
		})
	found := ok(waiter.WaitForOutput(ctx, &route53.GetChangeInput{Id: changed.ChangeInfo.Id}, patience))
	l.same("Status", found.ChangeInfo.Status, r53types.ChangeStatusInsync)
}

func (l *life) change(
	action r53types.ChangeAction, name string, kind r53types.RRType, values ...string,
) (*route53.ChangeResourceRecordSetsOutput, error) {
	return l.route53.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &l.zone,
		ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{
			{Action: action, ResourceRecordSet: recordSet(name, kind, values...)},
		}},
	})
}

func recordSet(name string, kind r53types.RRType, values ...string) *r53types.ResourceRecordSet {
	set := &r53types.ResourceRecordSet{Name: &name, Type: kind, TTL: at[int64](60)}
	for _, value := range values {
		set.ResourceRecords = append(set.ResourceRecords, r53types.ResourceRecord{Value: &value})
	}
	return set
}

func selfSigned(names ...string) (certificate, key []byte) {
	private := ok(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: names[0]},
		DNSNames:     names,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
	body := ok(x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: body}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: ok(x509.MarshalPKCS8PrivateKey(private))})
}
