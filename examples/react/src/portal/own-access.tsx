import type { Access } from 'gatehouse-client'
import { gatehouse } from '../gatehouse.ts'
import { fill } from '../language/fill.ts'
import { texts } from '../language/language.ts'
import { MessagePlace } from '../parts/message-box.tsx'
import { GroupTable } from './group-table.tsx'
import { roleName } from './role-name.ts'
import { Time } from './time.tsx'
import { useLoaded } from './use-loaded.ts'

export function OwnAccess() {
  const [{ content, message }] = useLoaded(gatehouse.groups)
  return (
    <>
      <MessagePlace message={message} />
      {content && <RolesAndGroups access={content} />}
      {!content && !message && <p>{texts.lookingUpGroups}</p>}
    </>
  )
}

function RolesAndGroups({ access }: { readonly access: Access }) {
  const { groups, roles, maximalRoles, unknownRoles, meta } = access
  const strongest = new Set<string>(maximalRoles)
  return (
    <>
      <ul className="tags">
        {[...roles, ...unknownRoles].map((role) => (
          <li key={role} className={strongest.has(role) ? 'strong' : undefined} dir="auto">
            {roleName(role)}
          </li>
        ))}
      </ul>
      {groups.length === 0 ? (
        <p>{texts.noGroups}</p>
      ) : (
        <GroupTable caption={texts.myGroups} groups={groups} />
      )}
      {meta.stale && <p>{fill(texts.asOf, { time: <Time at={meta.fetchedAt} /> })}</p>}
    </>
  )
}
