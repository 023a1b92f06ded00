// Package audit writes what every user did to a file of JSON lines.
package audit

import (
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/plugin/pkg/audit/log"
)

// Apply sends the audit events of a server to the end of a file. Each line is written before its request
// is answered in full, so a test that has seen the answer finds the line.
func Apply(config *server.Config, file string) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	config.AuditBackend = log.NewBackend(out, log.FormatJson, auditv1.SchemeGroupVersion)
	config.AuditPolicyRuleEvaluator = policy.NewPolicyRuleEvaluator(Policy())
	return nil
}

// Policy records user, verb, object and answer of every request for a resource, reads included, but no
// bodies. Left out are discovery, health and the API server's own informers: nobody's deeds.
func Policy() *auditapi.Policy {
	return &auditapi.Policy{
		TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
		OmitStages: []auditapi.Stage{auditapi.StageRequestReceived},
		Rules: []auditapi.PolicyRule{
			{Level: auditapi.LevelNone, NonResourceURLs: []string{"*"}},
			{Level: auditapi.LevelNone, Users: []string{user.APIServerUser}, Verbs: []string{"get", "list", "watch"}},
			{Level: auditapi.LevelMetadata},
		},
	}
}
