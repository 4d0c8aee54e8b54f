"""The stages of a depth, in the order data meets them, and what they stand on.

    plan → fetch → parse → archive → normalize → filter → record
         → dedup_content → settle → dedup_url → (pipeline.commit)

`records` has the vocabulary, `tables` the columns, `layout` the paths. This package
never imports `pipeline`.
"""
