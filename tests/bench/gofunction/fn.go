package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane/function-sdk-go/errors"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/request"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/crossplane/function-sdk-go/resource/composed"
	"github.com/crossplane/function-sdk-go/resource/composite"
	"github.com/crossplane/function-sdk-go/response"
)

const (
	externalName = "crossplane.io/external-name"
	planName     = "edgetenants.io/plan"
	claimLabel   = "edgetenants.io/claim"
)

// Function composes a DistributionTenant for each domain of a claim.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// RunFunction runs the function.
func (f *Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := response.To(req, time.Hour)
	if err := compose(req, rsp); err != nil {
		response.Fatal(rsp, err)
	}
	return rsp, nil
}

func compose(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	plans := &TenantPlans{}
	if err := request.GetInput(req, plans); err != nil {
		return err
	}
	xr, err := request.GetObservedCompositeResource(req)
	if err != nil {
		return errors.Wrap(err, "cannot get the observed composite")
	}
	observed, err := request.GetObservedComposedResources(req)
	if err != nil {
		return errors.Wrap(err, "cannot get the observed composed resources")
	}
	desired, err := request.GetDesiredComposedResources(req)
	if err != nil {
		return errors.Wrap(err, "cannot get the desired composed resources")
	}
	claim, err := readClaim(xr.Resource, plans)
	if err != nil {
		return err
	}
	tenants := make([]*tenant, 0, len(claim.domains))
	for _, domain := range claim.domains {
		name := resource.Name("tenant-" + digest(domain))
		t := look(domain, observed[name].Resource)
		tenants = append(tenants, t)
		desired[name] = &resource.DesiredComposed{Resource: claim.tenant(t), Ready: t.ready()}
	}
	if err := response.SetDesiredComposedResources(rsp, desired); err != nil {
		return errors.Wrap(err, "cannot set the desired composed resources")
	}
	live := summary(tenants)
	if err := setStatus(req, rsp, xr, claim, tenants, live); err != nil {
		return err
	}
	tell(rsp, xr.Resource, tenants, live)
	return nil
}

// A claim is the parsed claim with its plan.
type claim struct {
	namespace, name string
	domains         []string
	planName        string
	plan            Plan
	parameters      map[string]any
	tags            map[string]any
	suspended       bool
}

func readClaim(xr *composite.Unstructured, plans *TenantPlans) (*claim, error) {
	name, err := xr.GetString("spec.plan")
	if err != nil {
		name = plans.DefaultPlan
	}
	plan, ok := plans.Plans[name]
	if !ok {
		return nil, errors.Errorf("spec.plan: expected one of %v, got %q", slices.Sorted(maps.Keys(plans.Plans)), name)
	}
	domains, err := xr.GetStringArray("spec.domains")
	if err != nil {
		return nil, errors.Wrap(err, "spec.domains")
	}
	if len(domains) == 0 || len(domains) > min(plan.Allow.MaxDomains, plan.Allow.MaxPerDomain) {
		return nil, errors.Errorf("spec.domains: plan %s allows %d", name, plan.Allow.MaxPerDomain)
	}
	seen := make(map[string]bool, len(domains))
	for i, domain := range domains {
		domains[i] = strings.ToLower(strings.TrimSuffix(domain, "."))
		if errs := validation.IsDNS1123Subdomain(strings.TrimPrefix(domains[i], "*.")); len(errs) > 0 || seen[domains[i]] {
			return nil, errors.Errorf("spec.domains[%d]: %v", i, errs)
		}
		seen[domains[i]] = true
	}
	if isolation, err := xr.GetString("spec.isolation"); err != nil || isolation != "PerDomain" {
		return nil, errors.New("spec.isolation: expected PerDomain")
	}
	c := &claim{namespace: xr.GetNamespace(), name: xr.GetName(), domains: domains, planName: name, plan: plan}
	composition, err := xr.GetString("spec.crossplane.compositionRef.name")
	if err != nil {
		return nil, errors.Wrap(err, "spec.crossplane")
	}
	c.planName += ", Composition " + composition
	if c.suspended, err = xr.GetBool("spec.suspended"); err != nil {
		c.suspended = false
	}
	if c.parameters, err = merged(xr, "parameters", plan.Parameters, plan.Allow); err != nil {
		return nil, err
	}
	c.tags, err = merged(xr, "tags", plan.Tags, plan.Allow)
	return c, err
}

// merged is the plan's map, overridden by the claim's where the plan allows it.
func merged(xr *composite.Unstructured, field string, planned map[string]string, allow Allow) (map[string]any, error) {
	asked := map[string]string{}
	err := xr.GetValueInto("spec."+field, &asked)
	if err == nil && !slices.Contains(allow.Override, field) {
		return nil, errors.Errorf("spec.%s: expected nothing, as the plan lets its claims set %v", field, allow.Override)
	}
	all := make(map[string]any, len(planned)+len(asked))
	for key, value := range planned {
		all[key] = value
	}
	for key, value := range asked {
		all[key] = value
	}
	return all, nil
}

// tenant is the DistributionTenant of one domain.
func (c *claim) tenant(t *tenant) *composed.Unstructured {
	name := t.externalName
	if name == "" {
		name = fmt.Sprintf("%s.%s-%s", c.namespace, c.name, digest(t.domain))
	}
	cd := composed.New()
	cd.Object = map[string]any{
		"apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
		"kind":       "DistributionTenant",
		"metadata": map[string]any{
			"labels":      map[string]any{claimLabel: digest(c.namespace + "/" + c.name)},
			"annotations": map[string]any{externalName: name, planName: c.planName},
		},
		"spec": map[string]any{
			"providerConfigRef": map[string]any{"kind": "ClusterProviderConfig", "name": "default"},
			"forProvider": map[string]any{
				"distributionId": c.plan.DistributionID,
				"domains":        []any{t.domain},
				"enabled":        !c.suspended,
				"parameters":     c.parameters,
				"tags":           c.tags,
			},
		},
	}
	return cd
}

func setStatus(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, observed *resource.Composite, c *claim, tenants []*tenant, live finding) error {
	xr, err := request.GetDesiredCompositeResource(req)
	if err != nil {
		return errors.Wrap(err, "cannot get the desired composite")
	}
	rows, records, endpoint, active := make([]any, 0, len(tenants)), []any{}, "", 0
	sorted := slices.SortedFunc(slices.Values(tenants), func(a, b *tenant) int { return strings.Compare(a.domain, b.domain) })
	for _, t := range sorted {
		rows = append(rows, t.row())
	}
	for _, t := range tenants {
		for _, each := range t.instructions {
			records = append(records, each)
		}
		if endpoint == "" {
			endpoint = t.endpoint
		}
		if t.state() == "active" {
			active++
		}
	}
	ready := fmt.Sprintf("%d/%d", active, len(tenants))
	status := map[string]any{"phase": live.phase(), "domains": rows, "domainsReady": ready}
	if len(records) > 0 {
		status["dnsInstructions"] = records
	}
	if endpoint != "" {
		status["routingEndpoint"] = endpoint
	}
	if tenants[0].state() == "active" && !tenants[0].astray() {
		status["url"] = "https://" + c.domains[0]
	}
	if err := xr.Resource.SetValue("status", status); err != nil {
		return errors.Wrap(err, "cannot set the status")
	}
	return errors.Wrap(response.SetDesiredCompositeResource(rsp, xr), "cannot set the desired composite")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:20]
}
