-- Health of a Superset, a FireboltEngine or a FireboltInstance, from the conditions of ADR027.
-- Argo CD gives a script one second and neither the string nor the math library.

-- While Progressing has one of these reasons, a failure of the previous version must not fail a sync.
local rollout = { RollingOut = true, SpecNotObserved = true, JobRunning = true }

local function is(status, message)
  return { status = status, message = message }
end

-- requests returns whether the user requests a pause and a stop. Annotations do not change the generation,
-- so they are compared with the observed conditions.
local function requests()
  local command = (obj.metadata.annotations or {})["operator-command"]
  local suspended = obj.spec ~= nil and obj.spec.suspend == true
  return command == "Paused" or suspended, command == "Stopped"
end

local function covers(condition)
  return (condition.observedGeneration or 0) >= (obj.metadata.generation or 0)
end

-- intent returns the health while the object is paused, stopped, or awaits approval.
local function intent(c)
  local pause, stop = requests()
  -- Paused covers the latest observed spec, applied or not.
  if not covers(c.Paused) or pause ~= (c.Paused.status == "True") then
    return is("Progressing", "The latest intent is not observed yet.")
  end
  if pause then
    return is("Suspended", c.Paused.message)
  end
  if stop ~= (c.Stopped.reason ~= "Running") then
    return is("Progressing", "The latest intent is not observed yet.")
  end
  if c.Stopped.status == "True" then
    return is("Suspended", c.Stopped.message)
  end
  if stop then
    return is("Progressing", c.Stopped.message)
  end
  if obj.status.phase == "AwaitingApproval" then
    return is("Suspended", "An image change awaits approval.")
  end
end

-- evaluate returns the health of an object that is neither paused nor stopped.
local function evaluate(c)
  local progress, degraded = c.Progressing, c.Degraded
  if degraded.status == "True" and degraded.reason ~= "Recovering" and not rollout[progress.reason] then
    return is("Degraded", degraded.message)
  end
  if progress.status == "True" then
    return is("Progressing", progress.message)
  end
  if degraded.status ~= "False" then
    return is("Progressing", degraded.message)
  end
  if not (covers(c.Available) and covers(progress) and covers(degraded)) then
    return is("Progressing", "The latest spec is not applied to all workloads yet.")
  end
  if c.Available.status == "True" and progress.reason == "AsExpected" then
    return is("Healthy", c.Available.message)
  end
  if degraded.reason == "WithinTolerance" then
    return is("Progressing", degraded.message) -- within the hold-down; Degraded or Healthy follows
  end
  if c.Available.status == "Unknown" then
    return is("Unknown", c.Available.message)
  end
  if c.Available.status == "True" then
    return is("Progressing", progress.message)
  end
  return is("Degraded", c.Available.message)
end

if obj.metadata.deletionTimestamp ~= nil then
  return is("Progressing", "The object is being deleted.")
end

local c = {}
if obj.status ~= nil then
  for _, condition in ipairs(obj.status.conditions or {}) do
    c[condition.type] = condition
  end
end
for _, name in ipairs({ "Available", "Progressing", "Degraded", "Paused", "Stopped" }) do
  if c[name] == nil then
    return is("Progressing", "Waiting for the condition " .. name .. ".")
  end
  if c[name].reason == "ObserverStale" then
    return is("Unknown", c[name].message)
  end
  if c[name].reason == "NotYetObserved" then
    return is("Progressing", c[name].message)
  end
end
return intent(c) or evaluate(c)
