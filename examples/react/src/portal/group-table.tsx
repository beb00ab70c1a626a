import type { GroupPage } from 'gatehouse-client'
import { listOf, texts } from '../language/language.ts'
import { roleName } from './role-name.ts'

interface GroupTableProps {
  readonly caption: string
  readonly groups: GroupPage['list']
  /** The row that can get the focus. */
  readonly firstNew?: number | undefined
}

export function GroupTable({ caption, groups, firstNew }: GroupTableProps) {
  return (
    <table>
      <caption className="unseen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{texts.group}</th>
          <th scope="col">{texts.roles}</th>
        </tr>
      </thead>
      <tbody>
        {groups.map(({ id, name, roles }, index) => (
          <tr key={id}>
            <td {...(index === firstNew && { tabIndex: -1 })}>
              <bdi>{name}</bdi>
            </td>
            <td>{listOf(roles.map(roleName)) || texts.none}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
