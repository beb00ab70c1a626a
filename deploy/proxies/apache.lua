-- For apache.conf: asks Gatehouse which user is signed in, and removes what a client says about its identity. It needs
-- LuaSocket for the Lua of Apache (Debian: lua-socket).
local socket = require("socket")

-- Replace with your own: the replicas of Gatehouse (PORT).
local REPLICAS = { "127.0.0.1:8080", "127.0.0.1:8081" }

local CONNECT_SECONDS = 1
local ANSWER_SECONDS = 5 -- more than store.commandTimeoutMs

-- The headers of the request that Gatehouse needs, besides those that are written below.
local ASKED_WITH = { "Cookie", "X-Gatehouse-Session", "Secure-Session-Skipped" }

-- Do not change. Some servers read other characters in a name as hyphens, so only names of letters, digits and hyphens
-- pass.
local function remove_identity_headers(r)
  for name in pairs(r:headers_in_table()) do
    local lower = name:lower()
    if lower:find("[^a-z0-9-]") or lower:find("^x%-auth%-request%-") then r.headers_in[name] = nil end
  end
end

-- The status and the headers, by their names in lower case. nil and "timeout" if there was no answer in time, nil and
-- another text if the replica is not there.
local function answer_of(replica, request)
  local host, port = replica:match("^(.*):(%d+)$")
  local connection = socket.tcp()
  connection:settimeout(CONNECT_SECONDS)
  local is_open = connection:connect(host, tonumber(port))
  connection:settimeout(ANSWER_SECONDS)
  local line, problem
  if is_open and connection:send(request) then line, problem = connection:receive("*l") end
  local status = line and tonumber(line:match("^HTTP/1%.%d (%d%d%d)"))
  local headers = {}
  while status do
    line, problem = connection:receive("*l")
    if line == "" then break end
    local name, value = (line or ""):match("^([^:]+):%s*(.-)%s*$")
    if name == nil then status = nil else headers[name:lower()] = value end
  end
  connection:close()
  if status then return status, headers end
  return nil, problem or "closed"
end

-- A replica that is not there is skipped: the request only asks, so it can be sent again. The clock chooses the first.
local function ask(request)
  local first = math.floor(socket.gettime() * 1000)
  for turn = 0, #REPLICAS - 1 do
    local status, answer = answer_of(REPLICAS[(first + turn) % #REPLICAS + 1], request)
    if status or answer == "timeout" then return status, answer end
  end
end

local function request_for(r, rule, host)
  local lines = {
    "GET /forward-auth?" .. rule .. " HTTP/1.1",
    "Host: " .. host,
    "Connection: close",
    "X-Forwarded-Host: " .. host,
    "X-Forwarded-For: " .. r.useragent_ip,
  }
  for _, name in ipairs(ASKED_WITH) do
    local value = r.headers_in[name]
    if value then lines[#lines + 1] = name .. ": " .. value end
  end
  local id = r.subprocess_env["UNIQUE_ID"]
  if id then lines[#lines + 1] = "X-Request-Id: " .. id end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- A page that the browser opens. A page's own calls get the 401 or 403, because a redirect would answer them with HTML.
local function opens_page(r)
  local mode = r.headers_in["Sec-Fetch-Mode"]
  if mode then return mode == "navigate" end
  return (r.headers_in["Accept"] or ""):find("text/html", 1, true) ~= nil
end

-- What of the rule a user meets by signing in again (maxAuthAge, amr) is in the URL too, or the user would come back at
-- once. Gatehouse checks the URL in returnTo. Nothing may come after it, because it is as the client spelled it.
local function sign_in_url(r, rule, sign_in, host, denied)
  local proof = ""
  for part in rule:gmatch("[^&]+") do
    if part:find("^amr=") or part:find("^maxAuthAge=") then proof = proof .. part .. "&" end
  end
  local path = r.unparsed_uri:gsub("^%a[%w+.-]*://[^/?]*", "")
  if path:sub(1, 1) ~= "/" then path = "/" .. path end
  return sign_in .. "?" .. proof .. "reason=" .. denied .. "&returnTo=https://" .. host .. path
end

-- Asks for each request that has a rule: gatehouse_rule is the query of /forward-auth, or "signed-in" for every signed-in
-- user, because Apache has no empty variables. gatehouse_sign_in is where a browser begins to sign in, on the host of the
-- application, as a literal.
function check_request(r)
  remove_identity_headers(r)
  local rule, sign_in = r.subprocess_env["gatehouse_rule"], r.subprocess_env["gatehouse_sign_in"]
  if rule == nil then return apache2.DECLINED end
  if rule == "signed-in" then rule = "" end
  local host = sign_in:match("^https://([^/]+)/")
  local status, answer = ask(request_for(r, rule, host))
  if status == 200 then
    -- Do not remove: Apache drops the headers that it names, and a client could name those below.
    r.headers_in["Connection"] = nil
    r.headers_in["Upgrade"] = nil
    for name, value in pairs(answer) do
      if name:find("^x%-auth%-request%-") then r.headers_in[name] = value end
    end
    return apache2.DECLINED
  end
  r.err_headers_out["Cache-Control"] = "no-store"
  if status == 401 or status == 403 then
    local denied = answer["x-auth-request-denied"] or ""
    if opens_page(r) then
      r.headers_out["Location"] = sign_in_url(r, rule, sign_in, host, denied)
      return 302
    end
    if denied ~= "" then r.err_headers_out["X-Auth-Request-Denied"] = denied end
    return status
  end
  if status == 409 then return 409 end -- X-Gatehouse-Session: another tab has signed in
  -- Gatehouse or Redis is down, or the rule is mistyped. This does not mean that the user is signed out.
  r:err(("Gatehouse cannot tell who is signed in: %s"):format(status or answer or "no replica"))
  r.err_headers_out["Retry-After"] = "2"
  return 503
end
