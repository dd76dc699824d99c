package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/version"
)

// ApprovalToken returns the value of an annotation that approves the change from one image to another, each given as
// repository:tag, and no other change.
func ApprovalToken(from, to string) string {
	text, err := json.Marshal(struct {
		FromImage string `json:"fromImage"`
		ToImage   string `json:"toImage"`
	}{from, to})
	if err != nil {
		return "" // two strings always marshal
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func approval(context *v1alpha1.UpgradeContext) string {
	if context == nil {
		return ""
	}
	return context.ApprovalToken
}

// compare determines the image of the last migration and whether the desired image differs. A complete migration
// counts even if the following tasks are not complete: a return from there is a downgrade too.
func (p *pass) compare() {
	slot := p.status.Migrate
	job, exists := p.in.Jobs[resolve.Migrate.Word]
	if exists && slot != nil && slot.State == v1alpha1.TaskRunning && job.State == JobSucceeded &&
		(job.Attempt == 0 || job.Attempt == slot.Attempts && job.Checksum == slot.DesiredChecksum) &&
		!older(p.status.MigratedImage, slot.Image) {
		p.status.MigratedImage = slot.Image
	}
	from := p.in.LastImage
	if older(p.status.MigratedImage, p.in.Image) {
		from = p.status.MigratedImage
	}
	p.out.From, p.out.Upgrading = from, !p.in.Disabled && from != "" && from != p.in.Image
}

// older reports whether the version of the second image is known to be older than that of the first.
func older(from, to string) bool {
	return from != "" && version.Compare(from, to) == v1alpha1.DirectionDowngrade
}

// open reports whether the tasks may start: an image change has passed its gates. A change whose tasks have started
// is not checked again.
func (p *pass) open() bool {
	if !p.out.Upgrading {
		p.status.Upgrade = nil
		return true
	}
	wanted := ApprovalToken(p.out.From, p.in.Image)
	recorded := approval(p.was.Upgrade) == wanted
	if !recorded {
		p.status.Upgrade = &v1alpha1.UpgradeContext{
			FromVersion: version.Tag(p.out.From), ToVersion: version.Tag(p.in.Image),
			ApprovalToken: wanted, StartedAt: p.now(),
		}
	}
	context := p.status.Upgrade
	before := context.Direction
	context.Direction = version.Compare(p.out.From, p.in.Image)
	if before != context.Direction && context.Direction == v1alpha1.DirectionUnknown {
		p.warning(EventVersionComparisonSkipped,
			"The tags of %s and %s say no order: a downgrade would not be noticed", p.out.From, p.in.Image)
	}
	downgrade := context.Direction == v1alpha1.DirectionDowngrade
	p.approve(context, recorded, downgrade)
	switch {
	case context.ApprovedAt != nil, recorded && running(p.was.Phase):
		return true
	case downgrade:
		p.block()
		return false
	case p.in.Gate.Supervised:
		p.await()
		return false
	default:
		return true
	}
}

// approve records an approval. It is valid only after its change was stored, so that the user has seen the change and
// the state shows it.
func (p *pass) approve(context *v1alpha1.UpgradeContext, recorded, older bool) {
	given := p.in.Gate.DowngradeApproval
	if !older {
		given = p.in.Gate.Approval
	}
	switch {
	case context.ApprovedAt != nil || given != context.ApprovalToken || !older && !p.in.Gate.Supervised:
	case !recorded:
		p.next(p.in.Now)
	case older:
		context.ApprovedAt = p.now()
		p.normal(EventDowngradeApproved, "The change from %s back to %s is approved", p.out.From, p.in.Image)
	default:
		context.ApprovedAt = p.now()
		p.normal(EventUpgradeApproved, "The change from %s to %s is approved", p.out.From, p.in.Image)
	}
}

// block blocks an image that is older than that of the last migration.
func (p *pass) block() {
	if p.shut(v1alpha1.LifecycleBlocked, v1alpha1.PhaseBlocked) {
		p.warning(EventDowngradeBlocked, "The change from %s back to %s is blocked", p.out.From, p.in.Image)
	}
	p.waiting(v1alpha1.ReasonDowngradeBlocked, fmt.Sprintf(
		"%s is older than %s, for which the metastore was migrated: take the image back, or, after restoring the metastore, approve with %s",
		p.in.Image, p.out.From, p.annotate(v1alpha1.AnnotationApproveDowngrade)))
}

// await waits for the approval of the change.
func (p *pass) await() {
	if p.shut(v1alpha1.LifecycleAwaitingApproval, v1alpha1.PhaseAwaitingApproval) {
		p.normal(EventAwaitingApproval, "The change from %s to %s waits for an approval", p.out.From, p.in.Image)
	}
	p.waiting(v1alpha1.ReasonAwaitingApproval, fmt.Sprintf("The change from %s to %s waits for an approval: %s",
		p.out.From, p.in.Image, p.annotate(v1alpha1.AnnotationApproveUpgrade)))
}

func (p *pass) annotate(annotation string) string {
	name := p.in.Name
	if name == "" {
		name = "NAME"
	}
	return fmt.Sprintf("kubectl annotate superset %s %s=%s --overwrite", name, annotation, p.status.Upgrade.ApprovalToken)
}

// shut prevents the tasks from starting, and reports whether the state changed. Jobs of a former target are deleted;
// the status of completed tasks stays, so that reverting the change leaves no trace.
func (p *pass) shut(phase v1alpha1.LifecyclePhase, summary v1alpha1.Phase) bool {
	p.prune()
	for i := range p.in.Steps {
		step := &p.in.Steps[i]
		if slot := p.slot(step); slot != nil && slot.State != v1alpha1.TaskComplete {
			p.want(step, p.ensure(step))
			p.mark(step, metav1.ConditionFalse, v1alpha1.ReasonTaskWaiting, "Waiting for the image change to be approved")
		}
	}
	p.clear(nil)
	p.hold()
	p.status.Phase, p.out.Phase = phase, summary
	return p.was.Phase != phase || approval(p.was.Upgrade) != approval(p.status.Upgrade)
}
