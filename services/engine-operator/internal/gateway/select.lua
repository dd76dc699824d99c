-- Sends a request to the engine that it names, and refuses every other.
--
-- The names come from outside: only what is a DNS label reaches the authority, which
-- decides whom the request goes to. SUFFIX is what follows the engine's name there.

local HEADER, PARAMETER = "x-firebolt-engine", "engine"

-- Headers by which a client could change how this gateway retries and times out.
local OWN_HEADERS = {
  "x-envoy-retry-on", "x-envoy-retry-grpc-on", "x-envoy-max-retries",
  "x-envoy-retriable-status-codes", "x-envoy-retriable-header-names",
  "x-envoy-hedge-on-per-try-timeout", "x-envoy-upstream-alt-stat-name",
  "x-envoy-upstream-rq-timeout-ms", "x-envoy-upstream-rq-per-try-timeout-ms",
}

-- What Kubernetes lets an engine be called. Several values of a header arrive joined by
-- commas, which are no part of a label.
local function is_label(s)
  return #s <= 63 and string.find(s, "^[a-z0-9][%-a-z0-9]*$") ~= nil and string.sub(s, -1) ~= "-"
end

-- Undoes the encoding of a query, once. What is malformed keeps its percent sign, and a
-- plus sign stays one: neither is part of a name.
local function decode(s)
  return (string.gsub(s, "%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

-- Takes the parameter out of a path: what stood there, still encoded, and the path without it.
local function take(path)
  local mark = string.find(path, "?", 1, true)
  if not mark then
    return {}, path
  end
  local found, kept = {}, {}
  for piece in string.gmatch(string.sub(path, mark + 1) .. "&", "([^&]*)&") do
    local name, value = string.match(piece, "^([^=]*)=?(.*)$")
    if decode(name) == PARAMETER then
      found[#found + 1] = value
    else
      kept[#kept + 1] = piece
    end
  end
  if #found == 0 then
    return found, path
  end
  local query = table.concat(kept, "&")
  if query ~= "" then
    query = "?" .. query
  end
  return found, string.sub(path, 1, mark - 1) .. query
end

-- Returns the engine and the path to send, or nil, nil and what is wrong.
local function choose(header, path)
  local found, rest = take(path)
  if #found > 1 then
    return nil, nil, "the query parameter engine stands there more than once"
  end
  local parameter
  if found[1] then
    parameter = decode(found[1])
    if not is_label(parameter) then
      return nil, nil, "the query parameter engine is no engine's name"
    end
  end
  if header and not is_label(header) then
    return nil, nil, "the header X-Firebolt-Engine is no engine's name"
  end
  if header and parameter and header ~= parameter then
    return nil, nil, "the header X-Firebolt-Engine and the query parameter engine name different engines"
  end
  local engine = header or parameter
  if not engine then
    return nil, nil, "no engine is named"
  end
  return engine, rest, nil
end

local HELP = ". Name one engine in the header X-Firebolt-Engine or in the query parameter engine:" ..
  " 1 to 63 lower-case letters, digits and dashes, no dash first or last.\n"

function envoy_on_request(handle)
  local headers = handle:headers()
  local path = headers:get(":path") or ""
  local engine, rest, problem = choose(headers:get(HEADER), path)
  if problem then
    handle:respond({ [":status"] = "400", ["content-type"] = "text/plain; charset=utf-8" }, problem .. HELP)
    return -- which respond never comes back to
  end
  for _, name in ipairs(OWN_HEADERS) do
    headers:remove(name)
  end
  if rest ~= path then
    headers:replace(":path", rest)
  end
  headers:replace(":authority", engine .. SUFFIX)
end
