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

// ApprovalToken is what an annotation must hold to approve the change from one
// image to another, each given as repository:tag, and no other change.
func ApprovalToken(from, to string) string {
	text, err := json.Marshal(struct {
		FromImage string `json:"fromImage"`
		ToImage   string `json:"toImage"`
	}{from, to})
	if err != nil {
		return "" // two strings can always be written
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

// compare finds out which image the metastore was migrated for, and whether the image that is wanted is another one. A
// migration that is complete counts although the tasks after it are not: going back from there is a downgrade too.
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

// older is true when the second image is known to be of an older version than the first.
func older(from, to string) bool {
	return from != "" && version.Compare(from, to) == v1alpha1.DirectionDowngrade
}

// open says whether the tasks may begin: an image change has passed what it has to
// pass. A change whose tasks have begun is not asked again.
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

// approve takes over an approval. It counts only once the change that it is for
// was stored, so that people have seen what they approve and the state shows it.
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

// block refuses an older image than the one that the metastore was migrated for.
func (p *pass) block() {
	if p.shut(v1alpha1.LifecycleBlocked, v1alpha1.PhaseBlocked) {
		p.warning(EventDowngradeBlocked, "The change from %s back to %s is blocked", p.out.From, p.in.Image)
	}
	p.waiting(v1alpha1.ReasonDowngradeBlocked, fmt.Sprintf(
		"%s is older than %s, for which the metastore was migrated: take the image back, or, after restoring the metastore, approve with %s",
		p.in.Image, p.out.From, p.annotate(v1alpha1.AnnotationApproveDowngrade)))
}

// await waits for somebody to approve the change.
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

// shut keeps the tasks from beginning, and reports whether that is news. A Job of
// a former target is removed; slots of completed tasks stay as they are, so that
// taking the change back leaves no trace.
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
