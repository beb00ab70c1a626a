import type { GroupPage } from 'gatehouse-client'
import { useEffect, useRef, useState } from 'react'
import { gatehouse } from '../gatehouse.ts'
import { fill } from '../language/fill.ts'
import { texts } from '../language/language.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { GroupTable } from './group-table.tsx'

interface Found {
  readonly search: string
  readonly groups: GroupPage['list']
  readonly nextCursor: string | null | undefined
  /** The first group that was added last. */
  readonly firstNew?: number
}

/** Search over all groups. Gatehouse answers 403 if this user may not list them. */
export function Directory() {
  const [found, setFound] = useState<Found>()

  async function find(search: string, before: GroupPage['list'] = [], cursor?: string | null) {
    const { list, nextCursor } = await gatehouse.directory({ search, limit: 10, ...(cursor && { cursor }) })
    const groups = [...before, ...list]
    setFound({ search, groups, nextCursor, ...(cursor && { firstNew: before.length }) })
  }

  return (
    <div>
      <Form submit={texts.search} onSubmit={({ search = '' }) => find(search)}>
        <Field name="search" label={texts.partOfName} type="search" required={false} />
      </Form>
      <div aria-live="polite">{found && <FoundGroups found={found} onMore={find} />}</div>
    </div>
  )
}

interface FoundGroupsProps {
  readonly found: Found
  readonly onMore: (search: string, before: GroupPage['list'], cursor: string) => Promise<void>
}

/** More groups take the focus to the first new one, as the button moves. */
function FoundGroups({ found: { search, groups, nextCursor, firstNew }, onMore }: FoundGroupsProps) {
  const table = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (firstNew !== undefined) table.current?.querySelector<HTMLElement>('[tabindex]')?.focus()
  }, [firstNew])

  if (groups.length === 0) return <p>{texts.noGroupFound}</p>
  return (
    <div ref={table}>
      <p>{fill(texts.shown, { n: groups.length })}</p>
      <GroupTable caption={texts.groupsFound} groups={groups} firstNew={firstNew} />
      {nextCursor && (
        <div className="actions">
          <Button label={texts.more} onPress={() => onMore(search, groups, nextCursor)} />
        </div>
      )}
    </div>
  )
}
