-- Health of a Superset, a FireboltEngine or a FireboltInstance, from the conditions of ADR027.
-- Argo CD gives a script one second and neither the string nor the math library.

-- While one of these is why it moves, trouble of the version before is no reason to fail a sync.
local rollout = { RollingOut = true, SpecNotObserved = true, JobRunning = true }

local function is(status, message)
  return { status = status, message = message }
end

-- wishes are what the user asks for now. Annotations move no generation, so they are compared with what
-- the conditions say was read.
local function wishes()
  local command = (obj.metadata.annotations or {})["operator-command"]
  local suspended = obj.spec ~= nil and obj.spec.suspend == true
  return command == "Paused" or suspended, command == "Stopped"
end

local function covers(condition)
  return (condition.observedGeneration or 0) >= (obj.metadata.generation or 0)
end

-- intent answers while something is paused, stopped, or waits for a person.
local function intent(c)
  local pause, stop = wishes()
  -- Paused speaks of the newest spec that the operator has read, applied or not.
  if not covers(c.Paused) or pause ~= (c.Paused.status == "True") then
    return is("Progressing", "The operator has not read the newest wishes yet.")
  end
  if pause then
    return is("Suspended", c.Paused.message)
  end
  if stop ~= (c.Stopped.reason ~= "Running") then
    return is("Progressing", "The operator has not read the newest wishes yet.")
  end
  if c.Stopped.status == "True" then
    return is("Suspended", c.Stopped.message)
  end
  if stop then
    return is("Progressing", c.Stopped.message)
  end
  if obj.status.phase == "AwaitingApproval" then
    return is("Suspended", "A change of the image waits for its approval.")
  end
end

-- judge answers for an object that is meant to run.
local function judge(c)
  local progress, trouble = c.Progressing, c.Degraded
  if trouble.status == "True" and trouble.reason ~= "Recovering" and not rollout[progress.reason] then
    return is("Degraded", trouble.message)
  end
  if progress.status == "True" then
    return is("Progressing", progress.message)
  end
  if trouble.status ~= "False" then
    return is("Progressing", trouble.message)
  end
  if not (covers(c.Available) and covers(progress) and covers(trouble)) then
    return is("Progressing", "The latest spec is not applied to all workloads yet.")
  end
  if c.Available.status == "True" and progress.reason == "AsExpected" then
    return is("Healthy", c.Available.message)
  end
  if trouble.reason == "WithinTolerance" then
    return is("Progressing", trouble.message) -- too young to count; Degraded or Healthy will follow
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
return intent(c) or judge(c)
