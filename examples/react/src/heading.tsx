import { useEffect, useRef } from 'react'

/** The heading of a screen. It takes the focus, so that screen readers announce the new screen. */
export function Heading({ children }: { readonly children: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}
