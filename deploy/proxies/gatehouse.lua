-- For haproxy.cfg: asks Gatehouse which user is signed in, and removes Gatehouse's cookies from requests to other
-- servers and from their responses.

-- The headers of the request that Gatehouse needs. HAProxy has already written X-Forwarded-For, X-Forwarded-Host and
-- X-Request-Id.
local ASKED_WITH = {
  "cookie", "x-gatehouse-session", "secure-session-skipped", "x-forwarded-for", "x-forwarded-host", "x-request-id",
}

-- Requests the URL in its argument with the rule in txn.rule, and sets txn.auth_status: 200 (with txn.auth_user,
-- txn.auth_login, txn.auth_session and txn.auth_groups), 401 and 403 (with txn.auth_denied: the rule that is not met),
-- 409, or 0 if Gatehouse did not answer in time. Sets txn.auth_proof: what of the rule a user can meet by signing in
-- again, each with `&`.
core.register_action("check-session", { "http-req" }, function(txn, url)
  local received = txn.http:req_get_headers()
  local headers = {}
  for _, name in ipairs(ASKED_WITH) do
    if received[name] ~= nil then
      local values = {}
      for at = 0, #received[name] do values[#values + 1] = received[name][at] end
      headers[name] = values
    end
  end
  local rule, proof = txn:get_var("txn.rule") or "", ""
  for part in rule:gmatch("[^&]+") do
    if part:find("^amr=") or part:find("^maxAuthAge=") then proof = proof .. part .. "&" end
  end
  -- timeout: more than store.commandTimeoutMs
  local response = core.httpclient():get({ url = url .. "?" .. rule, headers = headers, timeout = 5000 })
  local identity = response and response.headers or {}
  local function value(name) return identity[name] and identity[name][0] or "" end
  txn:set_var("txn.auth_status", response and response.status or 0)
  txn:set_var("txn.auth_proof", proof)
  txn:set_var("txn.auth_denied", value("x-auth-request-denied"))
  txn:set_var("txn.auth_user", value("x-auth-request-user"))
  txn:set_var("txn.auth_login", value("x-auth-request-preferred-username"))
  txn:set_var("txn.auth_session", value("x-auth-request-session"))
  txn:set_var("txn.auth_groups", value("x-auth-request-groups"))
end, 1)

local OWN = {
  ["__Host-gatehouse"] = true,
  ["__Host-gatehouse-device"] = true,
  ["__Host-gatehouse-bound"] = true,
  ["__Host-gatehouse-app"] = true,
  ["__Host-gatehouse-app-state"] = true,
  ["__Host-Http-gatehouse"] = true,
  ["__Host-Http-gatehouse-device"] = true,
  ["gatehouse"] = true,
  ["gatehouse-device"] = true,
}

core.register_action("remove-gatehouse-cookies", { "http-req" }, function(txn)
  local received = txn.http:req_get_headers()["cookie"]
  if received == nil then return end
  local kept = {}
  for at = 0, #received do
    for cookie in received[at]:gmatch("[^;]+") do
      local name, text = cookie:match("^%s*([^=]-)%s*=") , cookie:match("^%s*(.-)%s*$")
      if text ~= "" and not OWN[name] then kept[#kept + 1] = text end
    end
  end
  txn.http:req_del_header("cookie")
  if #kept > 0 then txn.http:req_set_header("cookie", table.concat(kept, "; ")) end
end)

-- Browsers ignore spaces before a name, and send a cookie without a name as if its value was the
-- whole cookie.
local function is_of_gatehouse(line)
  local name = line:lower():gsub("^[%s=]+", ""):gsub("^__host%-", ""):gsub("^http%-", "")
  return name:find("^gatehouse") ~= nil
end

core.register_action("remove-gatehouse-set-cookies", { "http-res" }, function(txn)
  local received = txn.http:res_get_headers()["set-cookie"]
  if received == nil then return end
  txn.http:res_del_header("set-cookie")
  for at = 0, #received do
    if not is_of_gatehouse(received[at]) then txn.http:res_add_header("set-cookie", received[at]) end
  end
end)
