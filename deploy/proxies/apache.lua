-- For apache.conf: removes what a client says about its identity. Some servers read other characters in a name as
-- hyphens, so only names of letters, digits and hyphens pass.
function remove_identity_headers(r)
  for name in pairs(r:headers_in_table()) do
    local lower = name:lower()
    if lower:find("[^a-z0-9-]") or lower:find("^x%-auth%-request%-") then r.headers_in[name] = nil end
  end
  return apache2.DECLINED
end
