-- Health of the kinds of michelangelo.api, from the state that their own controllers write.
-- Flotilla stores these objects; it does not write their status.

local function is(status, message)
  return { status = status, message = message }
end

local status = obj.status or {}

-- Health by state. Unlisted states are Unknown.
local healthy = {
  "DEPLOYMENT_STATE_HEALTHY", "INFERENCE_SERVER_STATE_SERVING", "PIPELINE_RUN_STATE_SUCCEEDED",
  "PIPELINE_RUN_STATE_SKIPPED", "PIPELINE_STATE_READY", "PROJECT_STATE_READY", "RAY_CLUSTER_STATE_READY",
  "RAY_JOB_STATE_SUCCEEDED", "REVISION_STATE_READY", "TRIGGER_RUN_STATE_RUNNING", "TRIGGER_RUN_STATE_SUCCEEDED",
}
local progressing = {
  "DEPLOYMENT_STATE_INITIALIZING", "INFERENCE_SERVER_STATE_INITIALIZED", "INFERENCE_SERVER_STATE_CREATE_PENDING",
  "INFERENCE_SERVER_STATE_CREATING", "INFERENCE_SERVER_STATE_DELETE_PENDING", "INFERENCE_SERVER_STATE_DELETING",
  "PIPELINE_RUN_STATE_PENDING", "PIPELINE_RUN_STATE_RUNNING", "PIPELINE_STATE_CREATED", "PIPELINE_STATE_BUILDING",
  "PROJECT_STATE_PROVISIONING", "PROJECT_STATE_PROVISION_PENDING", "RAY_CLUSTER_STATE_PROVISIONING",
  "RAY_CLUSTER_STATE_TERMINATING", "RAY_JOB_STATE_INITIALIZING", "RAY_JOB_STATE_RUNNING", "REVISION_STATE_CREATED",
  "REVISION_STATE_BUILDING", "TRIGGER_RUN_STATE_PENDING_KILL",
}
local degraded = {
  "DEPLOYMENT_STATE_UNHEALTHY", "INFERENCE_SERVER_STATE_FAILED", "PIPELINE_RUN_STATE_FAILED", "PIPELINE_STATE_ERROR",
  "PROJECT_STATE_ERROR", "RAY_CLUSTER_STATE_FAILED", "RAY_CLUSTER_STATE_UNHEALTHY", "RAY_JOB_STATE_FAILED",
  "REVISION_STATE_ERROR", "TRIGGER_RUN_STATE_FAILED",
}
-- Ended or left empty on request.
local suspended = {
  "DEPLOYMENT_STATE_EMPTY", "INFERENCE_SERVER_STATE_DELETED", "PIPELINE_RUN_STATE_KILLED", "RAY_CLUSTER_STATE_TERMINATED",
  "RAY_JOB_STATE_KILLED", "TRIGGER_RUN_STATE_KILLED", "TRIGGER_RUN_STATE_PAUSED",
}
-- Stages of a Deployment that its state does not include.
local failed = {
  "DEPLOYMENT_STAGE_ROLLOUT_FAILED", "DEPLOYMENT_STAGE_ROLLBACK_COMPLETE", "DEPLOYMENT_STAGE_ROLLBACK_FAILED",
  "DEPLOYMENT_STAGE_CLEAN_UP_FAILED",
}
local moving = {
  "DEPLOYMENT_STAGE_VALIDATION", "DEPLOYMENT_STAGE_PLACEMENT", "DEPLOYMENT_STAGE_RESOURCE_ACQUISITION",
  "DEPLOYMENT_STAGE_ROLLBACK_IN_PROGRESS", "DEPLOYMENT_STAGE_CLEAN_UP_IN_PROGRESS",
}
-- Values before the first state.
local unset = {
  "DEPLOYMENT_STATE_INVALID", "INFERENCE_SERVER_STATE_INVALID", "PIPELINE_RUN_STATE_INVALID", "PIPELINE_STATE_INVALID",
  "PROJECT_STATE_INVALID", "RAY_CLUSTER_STATE_INVALID", "RAY_JOB_STATE_INVALID", "REVISION_STATE_INVALID",
  "TRIGGER_RUN_STATE_INVALID",
}
-- Kinds that report a state: Progressing before the first one. Other kinds are records.
local stateful = {
  Deployment = true, InferenceServer = true, Pipeline = true, PipelineRun = true, Project = true, RayCluster = true,
  RayJob = true, Revision = true, TriggerRun = true,
}

local function has(list, value)
  for _, one in ipairs(list) do
    if one == value then
      return true
    end
  end
  return false
end

-- concluded returns the health by the condition Succeeded or Ready, or nil without either.
local function concluded()
  for _, condition in ipairs(status.statusConditions or {}) do
    if condition.type == "Succeeded" or condition.type == "Ready" then
      if condition.status == "CONDITION_STATUS_TRUE" then
        return is("Healthy", condition.message)
      end
      if condition.status == "CONDITION_STATUS_FALSE" then
        return is("Degraded", condition.message)
      end
      return is("Progressing", condition.message)
    end
  end
end

if obj.metadata.deletionTimestamp ~= nil then
  return is("Progressing", "The object is being deleted; its row in MySQL is closed first.")
end
if obj.kind == "SparkJob" then
  return concluded() or is("Progressing", "No state has been reported yet.")
end
if not stateful[obj.kind] then
  return concluded() or is("Healthy", "Stored.")
end

local state = status.state
if state == nil or has(unset, state) then
  return is("Progressing", "No state has been reported yet.")
end
local detail = state
for _, text in ipairs({ status.errorMessage or "", status.message or "" }) do
  if text ~= "" then
    detail = text
    break
  end
end
if has(degraded, state) or has(failed, status.stage) then
  return is("Degraded", detail)
end
if has(progressing, state) or has(moving, status.stage) then
  return is("Progressing", detail)
end
if has(suspended, state) then
  return is("Suspended", detail)
end
if has(healthy, state) then
  return is("Healthy", detail)
end
return is("Unknown", "The state " .. state .. " is unknown.")
