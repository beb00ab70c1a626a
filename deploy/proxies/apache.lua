-- For apache.conf: removes headers in which a client says who it is. Some servers read every other sign in a name as a
-- hyphen, so only names of letters, digits and hyphens pass.
function remove_client_claims(r)
  for name in pairs(r:headers_in_table()) do
    local lower = name:lower()
    if lower:find("[^a-z0-9-]") or lower:find("^x%-auth%-request%-") then r.headers_in[name] = nil end
  end
  return apache2.DECLINED
end
