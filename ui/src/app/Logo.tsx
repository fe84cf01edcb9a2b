const FISH =
  "M-4.2 -9.4C-2 -8.7 -1 -8.4 -.2 -8.5C.5 -8.6 1.5 -9.2 2.4 -9.1C5.6 -8.9 8.9 -6.4 9 -3.8C9.2 -2.4 8.6 -.8 7.7 0C6.3 -1.5 4.4 -3.5 3.1 -4.8C1.6 -6.1 .3 -6.9 -.1 -7C-1.2 -7.2 -1.6 -6.4 -2.3 -5.1L-1.9 -7.5Z";

/** Three equal fish in a ring: none is first. */
export function Logo() {
  return (
    <svg viewBox="-12 -12 24 24" aria-hidden="true">
      {[0, 120, 240].map((turn) => (
        <path key={turn} d={FISH} transform={`rotate(${turn})`} />
      ))}
    </svg>
  );
}
