package main

import (
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/crossplane/function-sdk-go/resource/composed"
	"github.com/crossplane/function-sdk-go/resource/composite"
	"github.com/crossplane/function-sdk-go/response"
)

type condition struct {
	status, reason, message string
	generation              int64
}

func read(c map[string]any) condition {
	status, _ := c["status"].(string)
	reason, _ := c["reason"].(string)
	message, _ := c["message"].(string)
	generation, _ := c["observedGeneration"].(float64)
	return condition{status, reason, message, int64(generation)}
}

// A tenant is the observed tenant of one domain.
type tenant struct {
	domain       string
	seen         bool
	externalName string
	endpoint     string
	domains      map[string]string
	instructions []map[string]any
	conditions   map[string]condition
	current      bool
	found        finding
}

// A finding is the reason and message of Live, for a tenant or for the claim.
type finding struct{ reason, message string }

var (
	served    = finding{"Live", "Every domain is served."}
	creating  = finding{"Creating", "The tenant is being created. No action is needed."}
	changing  = finding{"Deploying", "The change is being applied in CloudFront. No action is needed."}
	phases    = map[string]string{"Live": "Live", "Deploying": "Deploying", "Creating": "Pending", "IssuingCertificate": "Issuing"}
	urgencies = []string{"Live", "Deploying", "Creating", "IssuingCertificate"}
)

func (f finding) live() bool { return f.reason == served.reason }

func (f finding) phase() string {
	if phase, ok := phases[f.reason]; ok {
		return phase
	}
	return "Failed"
}

func (f finding) failed() bool { return f.phase() == "Failed" }

func (f finding) urgency() int {
	if i := slices.Index(urgencies, f.reason); i >= 0 {
		return i
	}
	return len(urgencies)
}

// look reads the observed tenant of a domain.
func look(domain string, cd *composed.Unstructured) *tenant {
	t := &tenant{domain: domain, domains: map[string]string{}, conditions: map[string]condition{}}
	if cd == nil {
		t.found = creating
		return t
	}
	t.seen, t.externalName = true, cd.GetAnnotations()[externalName]
	status, _ := cd.Object["status"].(map[string]any)
	at, _ := status["atProvider"].(map[string]any)
	t.endpoint, _ = at["routingEndpoint"].(string)
	listed, _ := at["domains"].([]any)
	for _, each := range listed {
		if row, ok := each.(map[string]any); ok {
			name, _ := row["domain"].(string)
			t.domains[name], _ = row["status"].(string)
		}
	}
	wanted, _ := status["dnsInstructions"].([]any)
	for _, each := range wanted {
		if record, ok := each.(map[string]any); ok {
			t.instructions = append(t.instructions, record)
		}
	}
	// GetCondition would convert the whole status to JSON and back for each of them.
	told, _ := status["conditions"].([]any)
	for _, each := range told {
		if c, ok := each.(map[string]any); ok {
			typ, _ := c["type"].(string)
			t.conditions[typ] = read(c)
		}
	}
	asked, _ := cd.GetStringArray("spec.forProvider.domains")
	t.current = slices.Equal(asked, []string{domain}) && t.conditions["Synced"].generation >= cd.GetGeneration()
	t.found = t.judge()
	return t
}

func (t *tenant) judge() finding {
	ready, synced := t.conditions["Ready"], t.conditions["Synced"]
	switch {
	case ready.status == "True" && (t.current || t.state() == "active"):
		return served
	case synced.status == "False" && t.current && ready.status != "False":
		return finding{"Failed", synced.message}
	case ready.status == "True":
		return changing
	case ready.status != "False":
		return creating
	case ready.reason == "CertificatePending":
		return finding{"IssuingCertificate", ready.message + " Create the records of status.dnsInstructions, if there are any."}
	default:
		return finding{ready.reason, ready.message}
	}
}

// summary is the finding for the claim: that of its most urgent tenant.
func summary(tenants []*tenant) finding {
	worst := tenants[0]
	for _, t := range tenants {
		if t.found.urgency() > worst.found.urgency() {
			worst = t
		}
	}
	if len(tenants) == 1 || worst.found.live() {
		return worst.found
	}
	return finding{worst.found.reason, worst.domain + ": " + worst.found.message}
}

func (t *tenant) ready() resource.Ready {
	if t.found.live() {
		return resource.ReadyTrue
	}
	return resource.ReadyFalse
}

func (t *tenant) state() string { return t.domains[t.domain] }

func (t *tenant) record() string {
	for _, each := range t.instructions {
		if each["purpose"] == "Routing" && each["name"] == t.domain {
			state, _ := each["state"].(string)
			return state
		}
	}
	return ""
}

func (t *tenant) astray() bool { return t.record() == "Missing" || t.record() == "Wrong" }

func (t *tenant) row() map[string]any {
	row := map[string]any{"domain": t.domain}
	for key, value := range map[string]string{
		"state":       t.state(),
		"certificate": t.conditions["CertificateReady"].reason,
		"dns":         t.record(),
	} {
		if value != "" {
			row[key] = value
		}
	}
	return row
}

func (t *tenant) rollsOut() bool {
	deployed, inSync := t.conditions["Deployed"], t.conditions["InSync"]
	return !t.current || deployed.reason == "Deploying" || inSync.reason == "UpdatePending"
}

// tell sets the conditions, and emits an event if Live has changed.
func tell(rsp *fnv1.RunFunctionResponse, xr *composite.Unstructured, tenants []*tenant, live finding) {
	set(rsp, live.live(), "Live", live.reason, live.message)
	switch {
	case slices.ContainsFunc(tenants, func(t *tenant) bool { return !t.seen }):
		set(rsp, true, "Reconciling", "Creating", "Tenants are being created. No action is needed unless another condition says so.")
	case slices.ContainsFunc(tenants, func(t *tenant) bool { return !t.found.failed() && t.rollsOut() }):
		set(rsp, true, "Reconciling", "Updating", "A change is being rolled out. No action is needed unless another condition says so.")
	default:
		set(rsp, false, "Reconciling", "Stable", "No change is in progress.")
	}
	if i := slices.IndexFunc(tenants, func(t *tenant) bool { return t.found.failed() }); i >= 0 {
		set(rsp, true, "Degraded", "TenantFailed", tenants[i].domain+": "+tenants[i].found.message)
	} else {
		set(rsp, false, "Degraded", "Recovered", "Nothing needs attention.")
	}
	set(rsp, false, "Suspended", "Active", "The claim is not suspended.")
	set(rsp, false, "Blocked", "Unblocked", "Nothing is blocked.")
	if before := xr.GetCondition("Live"); string(before.Reason) != live.reason {
		response.Normal(rsp, live.message).WithReason(live.reason).TargetComposite()
	}
}

func set(rsp *fnv1.RunFunctionResponse, holds bool, typ, reason, message string) {
	if holds {
		response.ConditionTrue(rsp, typ, reason).WithMessage(message)
		return
	}
	response.ConditionFalse(rsp, typ, reason).WithMessage(message)
}
