// Package audit writes the requests of all users as JSON lines to a file.
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

// Apply appends the audit events of a server to a file. Each line is written before the end of its response, so a
// test that has read the response finds the line.
func Apply(config *server.Config, file string) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	config.AuditBackend = log.NewBackend(out, log.FormatJson, auditv1.SchemeGroupVersion)
	config.AuditPolicyRuleEvaluator = policy.NewPolicyRuleEvaluator(Policy())
	return nil
}

// Policy records user, verb, object and response code of every request for a resource, including reads, but no
// bodies. It omits discovery, health checks and the API server's own informers.
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
