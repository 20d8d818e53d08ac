// The page as one file, with its script and styles inlined. This one shows no more than where the data are.

export const pageHtml = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Conclave</title>
<h1>Conclave</h1>
<p>The elections, locks and groups of shards are at <a href="api/state">api/state</a>.</p>
</html>
`;

/** The Content-Security-Policy that goes with it. */
export const pageCsp =
  "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
