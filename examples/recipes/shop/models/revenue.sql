SELECT DATE '{{ var("day") }}' AS day, sum(amount) AS total FROM {{ ref('orders') }}
