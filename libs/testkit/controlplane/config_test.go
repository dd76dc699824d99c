package controlplane

import (
	"strings"
	"testing"
)

func TestConfigRendersAuditPolicyOnRequest(t *testing.T) {
	cfg := Config{Name: "a", Dir: t.TempDir()}
	const line, size = "kubeAuditPolicy: /dir/policy.yaml\n", "key: audit-log-maxsize\n"
	plain, err := cfg.render(Tools{Dir: "/tools"})
	if err != nil || strings.Contains(plain, "kubeAuditPolicy") || strings.Contains(plain, size) {
		t.Errorf("without a policy: %v in\n%s", err, plain)
	}
	cfg.AuditPolicy = "/dir/policy.yaml"
	audited, err := cfg.render(Tools{Dir: "/tools"})
	if err != nil || !strings.Contains(audited, line) || !strings.Contains(audited, size) {
		t.Errorf("with a policy: %v in\n%s", err, audited)
	}
}

func TestConfigDisablesLimitsWhenUnthrottled(t *testing.T) {
	cfg := Config{Name: "a", Dir: t.TempDir()}
	for _, unthrottled := range []bool{false, true} {
		cfg.Unthrottled = unthrottled
		text, err := cfg.render(Tools{Dir: "/tools"})
		if err != nil || strings.Contains(text, "disableQPSLimits: true\n") != unthrottled {
			t.Errorf("unthrottled %t: %v in\n%s", unthrottled, err, text)
		}
	}
}
