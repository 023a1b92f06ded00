package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TenantPlans is the function's input.
type TenantPlans struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	DefaultPlan string          `json:"defaultPlan,omitempty"`
	Plans       map[string]Plan `json:"plans,omitempty"`
}

// Plan is what the platform team offers under one name.
type Plan struct {
	DistributionID string            `json:"distributionId"`
	Parameters     map[string]string `json:"parameters,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	Allow          Allow             `json:"allow,omitempty"`
}

// Allow is what claims of a plan may set.
type Allow struct {
	Override     []string `json:"override,omitempty"`
	MaxDomains   int      `json:"maxDomains,omitempty"`
	MaxPerDomain int      `json:"maxPerDomain,omitempty"`
}

// DeepCopyObject makes it a runtime.Object. It is never called.
func (p *TenantPlans) DeepCopyObject() runtime.Object {
	c := *p
	return &c
}
