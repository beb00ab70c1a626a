// For nginx.conf.

// What of the location's rule a user can meet by signing in again, each with `&`.
function proof_of_rule(r) {
  const parts = (r.variables.rule || '').split('&')
  return parts
    .filter((part) => /^(amr|maxAuthAge)=/.test(part))
    .map((part) => `${part}&`)
    .join('')
}

// Removes Gatehouse's cookies from what an application sets. Browsers ignore spaces
// before a name, and send a cookie without a name as if its value was the whole cookie.
const OF_GATEHOUSE = /^[\s=]*(__Host-(Http-)?)?gatehouse/i

function remove_gatehouse_cookies(r) {
  const lines = r.headersOut['Set-Cookie'] || []
  const others = lines.filter((line) => !OF_GATEHOUSE.test(line))
  if (others.length === lines.length) return
  if (others.length > 0) r.headersOut['Set-Cookie'] = others
  else delete r.headersOut['Set-Cookie']
}

export default { proof_of_rule, remove_gatehouse_cookies }
