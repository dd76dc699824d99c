-- Health of a FireboltEngineClass: nothing runs for it, so it is well once engines can be made from it.

local function is(status, message)
  return { status = status, message = message }
end

local ready
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "Ready" then
    ready = condition
  end
end

if obj.metadata.deletionTimestamp ~= nil then
  if ready ~= nil and ready.reason == "DeletionBlocked" then
    return is("Progressing", ready.message)
  end
  return is("Progressing", "The object is being deleted.")
end
if ready == nil or (ready.observedGeneration or 0) < (obj.metadata.generation or 0) then
  return is("Progressing", "The latest spec is not observed yet.")
end
if ready.status == "True" then
  return is("Healthy", ready.message)
end
return is("Degraded", ready.message)
