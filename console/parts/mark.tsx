// A tower: what the name means.
export const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <path d="M10 24V12l-2-2V7h3v2h2.5V7h5v2H21V7h3v3l-2 2v12h-4v-4a2 2 0 0 0-4 0v4z" fill="#f4f1ea" />
  </svg>
);
